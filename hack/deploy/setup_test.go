package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-go/karpenter/hack/deploy/terraform"
	"github.com/karpenter-go/karpenter/hack/manual/account"
)

// A setup has the resources of an account, in a form that does not depend on CloudFormation or Terraform.
type setup struct {
	Roles        map[string]role
	Policies     map[string]any // documents by name
	Queues       []queue
	Entries      []string // cluster, principal, type
	Associations []string // cluster, namespace, ServiceAccount, role
	Events       []event
}

type role struct {
	Trust    any
	Policies []string // ARNs
}

type queue struct {
	Name      string
	Retention string // seconds
	Encrypted bool
	Policy    any
}

type event struct {
	Pattern any
	Targets []string // ID and ARN
}

// parsed returns JSON text, or an object, as decoded JSON.
func parsed(t *testing.T, v any) any {
	t.Helper()
	text, isText := v.(string)
	if !isText {
		bytes, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text = string(bytes)
	}
	var out any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// inOrder sorts a list and returns it.
func inOrder(list []string) []string {
	slices.Sort(list)
	return list
}

// texts returns a list of a stack as text.
func texts(v any) []string {
	list, _ := v.([]any)
	out := []string{}
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return inOrder(out)
}

// sort sorts the lists whose order has no meaning.
func (s *setup) sort() {
	slices.SortFunc(s.Events, func(a, b event) int {
		return slices.Compare([]string{fmt.Sprint(a.Pattern)}, []string{fmt.Sprint(b.Pattern)})
	})
	slices.Sort(s.Entries)
	slices.Sort(s.Associations)
}

// ofStack returns the setup of the resources that a stack creates.
func ofStack(t *testing.T, resources []account.Resource) setup {
	t.Helper()
	s := setup{Roles: map[string]role{}, Policies: map[string]any{}}
	guarded := map[string]any{} // by URL
	for _, r := range resources {
		p := r.Properties
		text := func(name string) string { return fmt.Sprint(p[name]) }
		switch r.Kind {
		case "AWS::IAM::Role":
			s.Roles[text("RoleName")] = role{parsed(t, p["AssumeRolePolicyDocument"]), texts(p["ManagedPolicyArns"])}
		case "AWS::IAM::ManagedPolicy":
			s.Policies[text("ManagedPolicyName")] = parsed(t, p["PolicyDocument"])
		case "AWS::EKS::AccessEntry":
			s.Entries = append(s.Entries, text("ClusterName")+" "+text("PrincipalArn")+" "+text("Type"))
		case "AWS::EKS::PodIdentityAssociation":
			s.Associations = append(s.Associations, text("ClusterName")+" "+text("Namespace")+" "+text("ServiceAccount")+" "+text("RoleArn"))
		case "AWS::SQS::QueuePolicy":
			for _, url := range texts(p["Queues"]) {
				guarded[url] = parsed(t, p["PolicyDocument"])
			}
		case "AWS::Events::Rule":
			var targets []string
			for _, target := range p["Targets"].([]any) {
				targets = append(targets, fmt.Sprintf("%s %s", target.(map[string]any)["Id"], target.(map[string]any)["Arn"]))
			}
			s.Events = append(s.Events, event{parsed(t, p["EventPattern"]), inOrder(targets)})
		case "AWS::SQS::Queue":
		default:
			t.Fatalf("%s: what is %s in Terraform's words?", r.ID, r.Kind)
		}
	}
	for _, r := range resources {
		if r.Kind == "AWS::SQS::Queue" {
			p := r.Properties
			s.Queues = append(s.Queues, queue{fmt.Sprint(p["QueueName"]), fmt.Sprint(p["MessageRetentionPeriod"]), p["SqsManagedSseEnabled"] == true, guarded[fmt.Sprint(r.Ref)]})
		}
	}
	s.sort()
	return s
}

// ofModule returns the setup of the resources that a module creates.
func ofModule(t *testing.T, plan terraform.Plan) setup {
	t.Helper()
	s := setup{Roles: map[string]role{}, Policies: map[string]any{}}
	targets, attached, guarded := map[string][]string{}, map[string][]string{}, map[string]any{}
	for address, r := range plan.Resources {
		switch r.Kind {
		case "aws_iam_role_policy_attachment":
			attached[r.Text("role")] = append(attached[r.Text("role")], r.Text("policy_arn"))
		case "aws_cloudwatch_event_target":
			targets[r.Text("rule")] = append(targets[r.Text("rule")], r.Text("target_id")+" "+r.Text("arn"))
		case "aws_sqs_queue_policy":
			guarded[r.Text("queue_url")] = parsed(t, r.Text("policy"))
		case "aws_iam_policy":
			s.Policies[r.Text("name")] = parsed(t, r.Text("policy"))
		case "aws_eks_access_entry":
			s.Entries = append(s.Entries, r.Text("cluster_name")+" "+r.Text("principal_arn")+" "+r.Text("type"))
		case "aws_eks_pod_identity_association":
			s.Associations = append(s.Associations, r.Text("cluster_name")+" "+r.Text("namespace")+" "+r.Text("service_account")+" "+r.Text("role_arn"))
		case "aws_iam_role", "aws_cloudwatch_event_rule", "aws_sqs_queue":
		default:
			t.Fatalf("%s: what is %s in CloudFormation's words?", address, r.Kind)
		}
	}
	for _, r := range plan.Resources {
		switch r.Kind {
		case "aws_iam_role":
			s.Roles[r.Text("name")] = role{parsed(t, r.Text("assume_role_policy")), inOrder(attached[r.Text("name")])}
		case "aws_cloudwatch_event_rule":
			s.Events = append(s.Events, event{parsed(t, r.Text("event_pattern")), inOrder(targets[r.Text("name")])})
		case "aws_sqs_queue":
			encrypted := r.Values["sqs_managed_sse_enabled"]
			s.Queues = append(s.Queues, queue{r.Text("name"), r.Values["message_retention_seconds"].AsBigFloat().String(),
				!encrypted.IsNull() && encrypted.True(), guarded[r.Text("url")]})
		}
	}
	s.sort()
	return s
}
