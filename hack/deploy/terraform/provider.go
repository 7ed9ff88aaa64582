package terraform

import (
	"github.com/zclconf/go-cty/cty"
)

// provider is the source of the provider in required_providers.
const provider = "hashicorp/aws"

// dataKinds are the kinds of data sources that the module may use.
var dataKinds = map[string]kind{
	"aws_partition": {
		since:      "3.0.0",
		attributes: map[string]cty.Type{"id": cty.String, "partition": cty.String, "dns_suffix": cty.String, "reverse_dns_prefix": cty.String},
		made: func(f Facts, _ map[string]cty.Value) map[string]cty.Value {
			return text(map[string]string{"id": f.Partition, "partition": f.Partition, "dns_suffix": f.URLSuffix, "reverse_dns_prefix": "com.amazonaws"})
		},
	},
	"aws_region": {
		since:      "1.0.0",
		shape:      shape{arguments: map[string]argument{"name": may(cty.String), "endpoint": may(cty.String)}},
		attributes: map[string]cty.Type{"id": cty.String, "description": cty.String},
		made: func(f Facts, _ map[string]cty.Value) map[string]cty.Value {
			return text(map[string]string{"id": f.Region, "name": f.Region, "endpoint": "ec2." + f.Region + "." + f.URLSuffix, "description": f.Region})
		},
	},
	"aws_caller_identity": {
		since:      "1.0.0",
		attributes: map[string]cty.Type{"id": cty.String, "account_id": cty.String, "arn": cty.String, "user_id": cty.String},
		made: func(f Facts, _ map[string]cty.Value) map[string]cty.Value {
			return text(map[string]string{"id": f.Account, "account_id": f.Account, "arn": f.arn("iam", "", "user/admin"), "user_id": "AIDA"})
		},
	},
}

// resourceKinds are the kinds of resources that the module may create, with the arguments that version 5.33 of the
// provider and later ones accept.
var resourceKinds = map[string]kind{
	"aws_iam_role": {
		since: "1.0.0",
		shape: shape{
			arguments: map[string]argument{
				"assume_role_policy": need(cty.String).with(isJSON), "description": may(cty.String).with(upTo(1000)),
				"force_detach_policies": may(cty.Bool), "max_session_duration": may(cty.Number).with(between(3600, 43200)),
				"name": may(cty.String).with(upTo(64)), "name_prefix": may(cty.String).with(upTo(38)), "path": may(cty.String),
				"permissions_boundary": may(cty.String), "managed_policy_arns": may(texts), "tags": may(tags),
			},
			blocks: map[string]nested{"inline_policy": {shape: shape{arguments: map[string]argument{
				"name": may(cty.String), "policy": may(cty.String).with(isJSON)}}}},
			conflicts: []string{"name", "name_prefix"},
		},
		attributes: map[string]cty.Type{"arn": cty.String, "id": cty.String, "unique_id": cty.String, "create_date": cty.String, "tags_all": tags},
		made: func(f Facts, given map[string]cty.Value) map[string]cty.Value {
			name := named(given)
			return text(map[string]string{"name": name, "id": name, "arn": f.arn("iam", "", "role/"+name), "unique_id": "AROA" + name,
				"path": "/", "create_date": "2026-01-01T00:00:00Z"})
		},
	},
	"aws_iam_policy": {
		since: "1.0.0",
		shape: shape{
			arguments: map[string]argument{
				"policy": need(cty.String).with(isJSON), "description": may(cty.String).with(upTo(1000)), "name": may(cty.String).with(upTo(128)),
				"name_prefix": may(cty.String).with(upTo(102)), "path": may(cty.String), "tags": may(tags),
			},
			conflicts: []string{"name", "name_prefix"},
		},
		attributes: map[string]cty.Type{"arn": cty.String, "id": cty.String, "policy_id": cty.String, "tags_all": tags},
		made: func(f Facts, given map[string]cty.Value) map[string]cty.Value {
			name := named(given)
			arn := f.arn("iam", "", "policy/"+name)
			return text(map[string]string{"name": name, "id": arn, "arn": arn, "policy_id": "ANPA" + name, "path": "/"})
		},
	},
	"aws_iam_role_policy_attachment": {
		since:      "1.0.0",
		shape:      shape{arguments: map[string]argument{"role": need(cty.String), "policy_arn": need(cty.String)}},
		attributes: map[string]cty.Type{"id": cty.String},
	},
	"aws_eks_access_entry": {
		since: "5.33.0",
		shape: shape{
			arguments: map[string]argument{
				"cluster_name": need(cty.String), "principal_arn": need(cty.String), "kubernetes_groups": may(texts), "tags": may(tags),
				"type":      may(cty.String).with(oneOf("STANDARD", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX")),
				"user_name": may(cty.String),
			},
			blocks: timeouts("create", "delete"),
		},
		attributes: map[string]cty.Type{"id": cty.String, "access_entry_arn": cty.String, "created_at": cty.String, "modified_at": cty.String, "tags_all": tags},
	},
	"aws_eks_pod_identity_association": {
		since: "5.29.0",
		shape: shape{arguments: map[string]argument{
			"cluster_name": need(cty.String), "namespace": need(cty.String), "role_arn": need(cty.String), "service_account": need(cty.String),
			"tags": may(tags),
		}},
		attributes: map[string]cty.Type{"id": cty.String, "association_arn": cty.String, "association_id": cty.String, "tags_all": tags},
	},
	"aws_sqs_queue":               queue,
	"aws_sqs_queue_policy":        queuePolicy,
	"aws_cloudwatch_event_rule":   rule,
	"aws_cloudwatch_event_target": target,
}

var (
	queue = kind{
		since: "4.0.0",
		shape: shape{
			arguments: map[string]argument{
				"name": may(cty.String).with(upTo(80)), "name_prefix": may(cty.String), "policy": may(cty.String).with(isJSON), "tags": may(tags),
				"delay_seconds":              may(cty.Number).with(between(0, 900)),
				"max_message_size":           may(cty.Number).with(between(1024, 262144)),
				"message_retention_seconds":  may(cty.Number).with(between(60, 1209600)),
				"receive_wait_time_seconds":  may(cty.Number).with(between(0, 20)),
				"visibility_timeout_seconds": may(cty.Number).with(between(0, 43200)),
				"redrive_policy":             may(cty.String).with(isJSON), "redrive_allow_policy": may(cty.String).with(isJSON),
				"fifo_queue": may(cty.Bool), "content_based_deduplication": may(cty.Bool),
				"deduplication_scope": may(cty.String), "fifo_throughput_limit": may(cty.String),
				"kms_master_key_id": may(cty.String), "kms_data_key_reuse_period_seconds": may(cty.Number).with(between(60, 86400)),
				"sqs_managed_sse_enabled": may(cty.Bool),
			},
			conflicts: []string{"name", "name_prefix"},
		},
		attributes: map[string]cty.Type{"arn": cty.String, "id": cty.String, "url": cty.String, "tags_all": tags},
		made: func(f Facts, given map[string]cty.Value) map[string]cty.Value {
			name := named(given)
			url := "https://sqs." + f.Region + "." + f.URLSuffix + "/" + f.Account + "/" + name
			return text(map[string]string{"name": name, "id": url, "url": url, "arn": f.arn("sqs", f.Region, name)})
		},
	}
	queuePolicy = kind{
		since:      "1.0.0",
		shape:      shape{arguments: map[string]argument{"queue_url": need(cty.String), "policy": need(cty.String).with(isJSON)}},
		attributes: map[string]cty.Type{"id": cty.String},
	}
	rule = kind{
		since: "1.0.0",
		shape: shape{
			arguments: map[string]argument{
				"name": may(cty.String).with(upTo(64)), "name_prefix": may(cty.String).with(upTo(38)), "description": may(cty.String).with(upTo(512)),
				"event_pattern": may(cty.String).with(isJSON), "schedule_expression": may(cty.String), "event_bus_name": may(cty.String),
				"role_arn": may(cty.String), "is_enabled": may(cty.Bool), "tags": may(tags),
			},
			conflicts: []string{"name", "name_prefix"},
			oneOf:     []string{"event_pattern", "schedule_expression"},
		},
		attributes: map[string]cty.Type{"arn": cty.String, "id": cty.String, "tags_all": tags},
		made: func(f Facts, given map[string]cty.Value) map[string]cty.Value {
			name := named(given)
			return text(map[string]string{"name": name, "id": name, "arn": f.arn("events", f.Region, "rule/"+name)})
		},
	}
	// The arguments of an event target that is a queue. Targets of other kinds have more arguments.
	target = kind{
		since: "1.0.0",
		shape: shape{
			arguments: map[string]argument{
				"rule": need(cty.String), "arn": need(cty.String), "target_id": may(cty.String).with(upTo(64)), "event_bus_name": may(cty.String),
				"input": may(cty.String), "input_path": may(cty.String), "role_arn": may(cty.String),
			},
			blocks: map[string]nested{
				"dead_letter_config": {shape{arguments: map[string]argument{"arn": may(cty.String)}}, 1},
				"retry_policy": {shape{arguments: map[string]argument{"maximum_event_age_in_seconds": may(cty.Number).with(between(60, 86400)),
					"maximum_retry_attempts": may(cty.Number).with(between(0, 185))}}, 1},
				"sqs_target":        {shape{arguments: map[string]argument{"message_group_id": may(cty.String)}}, 1},
				"input_transformer": {shape{arguments: map[string]argument{"input_paths": may(tags), "input_template": need(cty.String)}}, 1},
			},
			conflicts: []string{"input", "input_path"},
		},
		attributes: map[string]cty.Type{"id": cty.String},
	}
)
