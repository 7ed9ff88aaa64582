package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/hack/deploy/terraform"
)

// A difference between the stack and the module is found, whichever of them is changed.
func TestDifferencesAreSeen(t *testing.T) {
	const stackFile = "cloudformation/karpenter.yaml"
	for name, tt := range map[string]struct{ file, was, is string }{
		"an action more":        {"terraform/policies/Discovery.json.tftpl", `"ec2:DescribeImages",`, `"ec2:DescribeImages", "ec2:DescribeVpcs",`},
		"a condition less":      {"terraform/policies/Discovery.json.tftpl", `"aws:RequestedRegion": "${region}"`, `"aws:RequestedRegion": "*"`},
		"a policy not made":     {"terraform/main.tf", `"Interruption", "Discovery"]`, `"Interruption"]`},
		"another name":          {"terraform/main.tf", "KarpenterNodeRole-${", "KarpenterNode-${"},
		"who may take the role": {"terraform/main.tf", `["sts:AssumeRole", "sts:TagSession"]`, `["sts:AssumeRole"]`},
		"where from":            {"terraform/main.tf", `{ "aws:SourceAccount" = data.aws_caller_identity.current.account_id }`, `{ "aws:SourceAccount" = "*" }`},
		"a policy of AWS":       {"terraform/main.tf", `    "AmazonSSMManagedInstanceCore",` + "\n", ""},
		"kept longer":           {"terraform/main.tf", "= 3600", "= 600"},
		"not encrypted":         {"terraform/main.tf", "sqs_managed_sse_enabled   = true", "sqs_managed_sse_enabled   = false"},
		"queue for any account": {"terraform/main.tf", `Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }`, ""},
		"stack: queue for any":  {stackFile, "            Condition:\n              StringEquals:\n                aws:SourceAccount: !Ref AWS::AccountId\n", ""},
		"without TLS":           {"terraform/main.tf", `"aws:SecureTransport" = "false"`, `"aws:SecureTransport" = "true"`},
		"another event":         {"terraform/main.tf", "Rebalance Recommendation", "Rebalance"},
		"another source":        {"terraform/main.tf", `source = "aws.health"`, `source = "aws.ec2"`},
		"another target":        {"terraform/main.tf", `"KarpenterQueue"`, `"Queue"`},
		"kind of entry":         {"terraform/main.tf", `"EC2_LINUX"`, `"EC2_WINDOWS"`},
		"default namespace":     {"terraform/variables.tf", `"kube-system"`, `"karpenter"`},
		"stack: action":         {stackFile, `"ec2:DescribeImages",`, `"ec2:DescribeImages", "ec2:DescribeVpcs",`},
		"stack: event less":     {stackFile, `["AWS Health Event"]`, `["AWS Health"]`},
		"stack: policy less":    {stackFile, "        - !Ref DiscoveryPolicy\n", ""},
		"stack: kept longer":    {stackFile, "MessageRetentionPeriod: 3600", "MessageRetentionPeriod: 600"},
		"stack: default":        {stackFile, "Default: karpenter", "Default: controller"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(root+"deploy")); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(dir + "/" + tt.file)
			if err != nil || !strings.Contains(string(text), tt.was) {
				t.Fatalf("%s has no %q (%v)", tt.file, tt.was, err)
			}
			if err := os.WriteFile(dir+"/"+tt.file, []byte(strings.Replace(string(text), tt.was, tt.is, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			stack, err := os.ReadFile(dir + "/" + stackFile)
			if err != nil {
				t.Fatal(err)
			}
			m, err := terraform.Read(os.DirFS(dir + "/terraform"))
			if err != nil {
				t.Fatal(err)
			}
			c := choices()[0]
			if cmp.Equal(c.stack(t, string(stack)), c.module(t, m)) {
				t.Error("the difference is not reported")
			}
		})
	}
}
