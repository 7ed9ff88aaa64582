package terraform

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"
)

const shipped = "../../../deploy/terraform"

// changed returns the shipped module with a piece of text replaced in one of its files.
func changed(t *testing.T, file, was, is string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(shipped), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(shipped + "/" + path)
		files[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	before := string(files[file].Data)
	after := strings.Replace(before, was, is, 1)
	if before == after && was != is {
		t.Fatalf("%s has no %q", file, was)
	}
	files[file].Data = []byte(after)
	return files
}

// problems returns the mistakes in a module that Read, Check or Plan finds.
func problems(files fs.FS, inputs map[string]cty.Value) error {
	m, err := Read(files)
	if err != nil {
		return err
	}
	_, planned := m.Plan(Facts{Partition: "aws", URLSuffix: "amazonaws.com", Region: "us-east-1", Account: "123456789012"}, inputs)
	return errors.Join(m.Check(), planned)
}

// Each mistake that is put into the shipped module is found and reported with its position.
func TestMistakes(t *testing.T) {
	for name, tt := range map[string]struct{ file, was, is, want string }{
		"as shipped":              {"main.tf", "", "", ""},
		"syntax":                  {"main.tf", `resource "aws_iam_role" "node" {`, `resource "aws_iam_role" "node" `, "main.tf:26: Invalid block definition"},
		"unknown block":           {"main.tf", "locals {", "local {", `no block "local"`},
		"argument at the top":     {"versions.tf", "terraform {", "x = 1\nterraform {", "versions.tf:1: x stands outside"},
		"too few labels":          {"outputs.tf", `output "queue_name"`, "output", "output has 0 labels"},
		"declared twice":          {"outputs.tf", `output "queue_name"`, `output "node_role_name"`, "node_role_name is declared at outputs.tf:6"},
		"unknown kind":            {"main.tf", `resource "aws_sqs_queue" `, `resource "aws_sqs_que" `, `resource "aws_sqs_que" is no kind`},
		"typo in an argument":     {"main.tf", "assume_role_policy = jsonencode", "assume_role_polcy = jsonencode", `main.tf:28: aws_iam_role.node has no argument "assume_role_polcy"`},
		"argument missing":        {"main.tf", "  cluster_name  = var.cluster_name\n", "", `aws_eks_access_entry.node needs the argument "cluster_name"`},
		"needed and null":         {"main.tf", "principal_arn = aws_iam_role.node.arn", "principal_arn = null", "principal_arn: it is needed, and null"},
		"number as text":          {"main.tf", "= 3600", `= "3600"`, "message_retention_seconds: want number, have string"},
		"number out of range":     {"main.tf", "= 3600", "= 30", "want a whole number from 60 to 1209600, have 30"},
		"text as a list":          {"main.tf", "name = local.node_role", "name = [local.node_role]", "main.tf:27: aws_iam_role.node: name: want string, have tuple"},
		"object as text":          {"main.tf", `event_pattern = jsonencode({ source = [each.value.source], "detail-type" = [each.value.type] })`, "event_pattern = each.value", "event_pattern: want string, have object"},
		"text that is no JSON":    {"policies/Cluster.json.tftpl", `"Version": `, `"Version" `, `policy: want an object of JSON`},
		"name too long":           {"main.tf", `"karpenter-${replace`, `"karpenter-interruptions-and-more-${replace`, "at most 38 are taken"},
		"no such word":            {"main.tf", `"EC2_LINUX"`, `"EC2_LINX"`, `"EC2_LINX" is none of`},
		"unknown nested block":    {"main.tf", "  lifecycle {", "  life_cycle {", `aws_iam_role.controller has no block "life_cycle"`},
		"unknown in nested block": {"main.tf", "      error_message =", "      message       =", `precondition has no argument "message"`},
		"missing in nested block": {"variables.tf", "    error_message = \"trust is PodIdentity or IRSA.\"\n", "", `validation needs the argument "error_message"`},
		"arguments that conflict": {"main.tf", "  name_prefix   =", "  name = \"x\"\n  name_prefix   =", "only one of name, name_prefix"},
		"neither of two":          {"main.tf", `  event_pattern = jsonencode({ source = [each.value.source], "detail-type" = [each.value.type] })` + "\n", "", "needs one of event_pattern, schedule_expression"},
		"count and for_each":      {"main.tf", "  count           = var.trust", "  for_each = local.events\n  count           = var.trust", "has count and for_each"},
		"for_each of a list":      {"main.tf", "for_each = toset([", "for_each = concat([", "for_each is a map or a set of text"},
		"unknown variable":        {"main.tf", "queue     = var.cluster_name", "queue     = var.cluster", "main.tf:9: var.cluster is declared nowhere"},
		"unknown local":           {"main.tf", "node_role  = local.node_role", "node_role  = local.noderole", "local.noderole is declared nowhere"},
		"unknown resource":        {"outputs.tf", "aws_iam_role.controller.arn", "aws_iam_role.karpenter.arn", "outputs.tf:3: aws_iam_role.karpenter is declared nowhere"},
		"unknown data":            {"main.tf", "region     = data.aws_region.current.name", "region     = data.aws_region.here.name", "data.aws_region.here is declared nowhere"},
		"unknown attribute":       {"main.tf", "data.aws_region.current.name", "data.aws_region.current.region", `has no attribute "region"`},
		"attribute of one":        {"main.tf", "aws_iam_policy.controller[each.value].arn", "aws_iam_policy.controller[each.value].urn", `does not have an attribute named "urn"`},
		"one of many":             {"main.tf", "aws_iam_policy.controller[each.value].arn", "aws_iam_policy.controller.arn", "say which of them is meant"},
		"index of one":            {"main.tf", "role_arn        = aws_iam_role.controller.arn", "role_arn        = aws_iam_role.controller[0].arn", "it is no list"},
		"each without for_each":   {"main.tf", "name = local.node_role", "name = each.key", "each.key without for_each"},
		"unknown of each":         {"main.tf", "each.value.source]", "each.value.sources]", `does not have an attribute named "sources"`},
		"unknown of path":         {"main.tf", "${path.module}", "${path.here}", "path.here is nothing"},
		"depends on itself":       {"main.tf", "queue     = var.cluster_name", "queue     = local.queue", "local.queue depends on itself"},
		"unused variable":         {"variables.tf", "variable \"tags\"", "variable \"other\" {\n  type = string\n  description = \"x\"\n  default = \"\"\n}\nvariable \"tags\"", "variable other is never used"},
		"unused local":            {"main.tf", "locals {", "locals {\n  other = 1", "local.other is never used"},
		"unused data":             {"main.tf", `data "aws_region" "current" {}`, "data \"aws_region\" \"current\" {}\ndata \"aws_region\" \"other\" {}", "data.aws_region.other is never used"},
		"unknown function":        {"main.tf", "toset(concat(", "toset(concatenate(", "concatenate: no function"},
		"too few values":          {"variables.tf", `contains(["PodIdentity", "IRSA"], var.trust)`, `contains([var.trust])`, "contains: 1 arguments, want 2"},
		"too many values":         {"main.tf", `replace(each.key, "_", "-")`, `replace(each.key, "_")`, "replace: 2 arguments, want 3"},
		"type of a variable":      {"variables.tf", "= map(string)", "= map(text)", "variables.tf:48: Invalid type specification"},
		"default of a variable":   {"variables.tf", "default     = true", `default     = "maybe"`, "variable access_entry: a bool is required"},
		"condition of a variable": {"variables.tf", `default     = "PodIdentity"`, `default     = "KIAM"`, "trust is PodIdentity or IRSA."},
		"condition of another":    {"variables.tf", "var.trust)", "var.namespace)", "may refer to itself only"},
		"condition of a resource": {"main.tf", `var.trust != "IRSA" ||`, `var.trust != "PodIdentity" ||`, "IRSA needs oidc_provider."},
		"template not there":      {"main.tf", "/policies/$", "/policy/$", "read template: open policy/"},
		"template wants more":     {"main.tf", "    queue      = local.queue\n", "", `There is no variable named "queue"`},
		"template given more":     {"main.tf", "    queue      = local.queue\n", "    queue      = local.queue\n    other = 1\n", `templates are given "other"`},
		"output of nothing":       {"outputs.tf", "aws_sqs_queue.interruption.name", "var.cluster_name", "output queue_name refers to nothing that is made"},
		"version of Terraform":    {"versions.tf", ">= 1.5", "=> 1.5", "versions.tf:2:"},
		"version of the provider": {"versions.tf", ">= 5.33", "five", "versions.tf:4:"},
		"provider too old":        {"versions.tf", ">= 5.33", ">= 5.32", "aws_eks_access_entry.node since 5.33.0 only"},
		"another provider":        {"versions.tf", "hashicorp/aws", "hashicorp/awscc", `the source is "hashicorp/awscc"`},
		"no version at all":       {"versions.tf", "      version = \">= 5.33\"\n", "", "versions.tf:4: want {source"},
	} {
		t.Run(name, func(t *testing.T) {
			err := problems(changed(t, tt.file, tt.was, tt.is), map[string]cty.Value{"cluster_name": cty.StringVal("demo")})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("want %q, have:\n%v", tt.want, err)
			}
		})
	}
}

// Missing and unknown variables, values of a wrong type and false conditions are errors.
func TestVariables(t *testing.T) {
	for name, tt := range map[string]struct {
		inputs map[string]cty.Value
		want   string
	}{
		"missing":    {nil, "variable cluster_name has no default"},
		"unknown":    {map[string]cty.Value{"cluster_name": cty.StringVal("demo"), "other": cty.True}, "no variable other"},
		"wrong type": {map[string]cty.Value{"cluster_name": cty.StringVal("demo"), "tags": cty.True}, "variable tags: map of string required"},
		"condition":  {map[string]cty.Value{"cluster_name": cty.StringVal("demo"), "trust": cty.StringVal("IRSA")}, "IRSA needs oidc_provider"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := problems(os.DirFS(shipped), tt.inputs); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want %q, have:\n%v", tt.want, err)
			}
		})
	}
}

// Call returns the variables of a call, and an error if the call is of another module.
func TestCall(t *testing.T) {
	for text, want := range map[string]string{
		`module "m" {`:                      "call:1:",
		`resource "m" "n" {}`:               "want one block",
		`module "m" { source = "./other" }`: `want source = "./here"`,
		`module "m" { source = var.x }`:     "Variables not allowed",
	} {
		if _, err := Call(text, "./here"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, have %v", text, want, err)
		}
	}
	inputs, err := Call("module \"m\" {\n source = \"./here\"\n a = 1\n}", "./here")
	if err != nil || len(inputs) != 1 || !inputs["a"].RawEquals(cty.NumberIntVal(1)) {
		t.Errorf("%v %v", inputs, err)
	}
}
