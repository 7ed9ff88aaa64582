package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/karpenter-go/karpenter/hack/deploy/terraform"
	"github.com/karpenter-go/karpenter/hack/manual"
	"github.com/karpenter-go/karpenter/hack/manual/account"
	"github.com/karpenter-go/karpenter/provider/aws/policy"
)

const root = "../../"

// The generated files are equal to the files in the repository.
func TestUpToDate(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		have, err := os.ReadFile(root + name)
		if err != nil || string(have) != string(want) {
			t.Errorf("%s is stale (%v): run make gen", name, err)
		}
	}
	policies, err := filepath.Glob(root + "deploy/terraform/policies/*")
	if err != nil || len(policies) != len(files)-1 {
		t.Errorf("deploy/terraform/policies has %d files, %d are generated (%v)", len(policies), len(files)-1, err)
	}
}

// A choice is one combination of parameters with which an account is set up, the same for the stack and the module.
type choice struct {
	trust                   string
	accessEntry, zonalShift bool
}

func (c choice) String() string {
	return fmt.Sprintf("%s access entry %v zonal shift %v", c.trust, c.accessEntry, c.zonalShift)
}

// choices returns all combinations.
func choices() []choice {
	var all []choice
	for _, trust := range []string{"PodIdentity", "IRSA"} {
		for _, entry := range []bool{true, false} {
			for _, shift := range []bool{true, false} {
				all = append(all, choice{trust, entry, shift})
			}
		}
	}
	return all
}

const (
	cluster = "demo"
	issuer  = "oidc.eks.us-east-1.amazonaws.com/id/EXAMPLE"
)

// facts are the properties of the account in which stacks are created.
var facts = terraform.Facts{Partition: account.Partition, URLSuffix: "amazonaws.com", Region: account.Region, Account: account.ID}

// stack returns the resources that the CloudFormation template creates.
func (c choice) stack(t *testing.T, template string) setup {
	t.Helper()
	word := map[bool]string{true: "yes", false: "no"}
	parameters := map[string]string{"ClusterName": cluster, "Trust": c.trust, "AccessEntry": word[c.accessEntry], "ZonalShift": word[c.zonalShift]}
	if c.trust == "IRSA" {
		parameters["OIDCProvider"] = issuer
	}
	resources, err := account.Resources(template, parameters)
	if err != nil {
		t.Fatal(err)
	}
	return ofStack(t, resources)
}

// module returns the resources that the Terraform module creates.
func (c choice) module(t *testing.T, m *terraform.Module) setup {
	t.Helper()
	inputs := map[string]cty.Value{"cluster_name": cty.StringVal(cluster), "trust": cty.StringVal(c.trust),
		"access_entry": cty.BoolVal(c.accessEntry), "zonal_shift": cty.BoolVal(c.zonalShift)}
	if c.trust == "IRSA" {
		inputs["oidc_provider"] = cty.StringVal(issuer)
	}
	plan, err := m.Plan(facts, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return ofModule(t, plan)
}

func shipped(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "deploy/cloudformation/karpenter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func module(t *testing.T) *terraform.Module {
	t.Helper()
	m, err := terraform.Read(os.DirFS(root + "deploy/terraform"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Check finds no mistake in the module.
func TestModuleIsSound(t *testing.T) {
	if err := module(t).Check(); err != nil {
		t.Error(err)
	}
}

// For all choices, the stack and the module create equal resources: roles, their trust policies, policies, queue, events, entries.
func TestStackAndModuleMakeTheSame(t *testing.T) {
	text, m := shipped(t), module(t)
	for _, c := range choices() {
		t.Run(c.String(), func(t *testing.T) {
			if diff := cmp.Diff(c.stack(t, text), c.module(t, m)); diff != "" {
				t.Errorf("(-stack +module)\n%s", diff)
			}
		})
	}
}

// The created policies are exactly those of provider/aws/policy, within the size limit of IAM. Each is attached to the role of
// the controller. The policy for zonal shifts is created only if it is chosen.
func TestPoliciesAreThoseOfTheSource(t *testing.T) {
	text := shipped(t)
	for _, c := range choices() {
		made := c.stack(t, text)
		want := map[string]any{}
		var attached []string
		for _, p := range policy.All(policy.Scope{Partition: account.Partition, Region: account.Region, Account: account.ID, Cluster: cluster,
			NodeRole: "KarpenterNodeRole-" + cluster, Queue: cluster}) {
			if p.Name == "ZonalShift" && !c.zonalShift {
				continue
			}
			document, err := p.Document()
			if err != nil {
				t.Fatal(err)
			}
			name := "Karpenter" + p.Name + "-" + cluster
			want[name] = parsed(t, string(document))
			attached = append(attached, "arn:aws:iam::"+account.ID+":policy/"+name)
			if n := len(strings.Join(strings.Fields(string(document)), "")); n > 6144 {
				t.Errorf("policy %s has %d characters, IAM takes 6144", p.Name, n)
			}
		}
		if diff := cmp.Diff(want, made.Policies); diff != "" {
			t.Errorf("%s: policies (-source +stack)\n%s", c, diff)
		}
		if diff := cmp.Diff(inOrder(attached), made.Roles["KarpenterControllerRole-"+cluster].Policies); diff != "" {
			t.Errorf("%s: attached (-source +stack)\n%s", c, diff)
		}
	}
}

// The five kinds of events are routed to the queue.
func TestEvents(t *testing.T) {
	made := choices()[0].stack(t, shipped(t))
	var kinds []string
	for _, e := range made.Events {
		for _, kind := range e.Pattern.(map[string]any)["detail-type"].([]any) {
			kinds = append(kinds, kind.(string))
		}
		if diff := cmp.Diff([]string{"KarpenterQueue arn:aws:sqs:us-east-1:" + account.ID + ":" + cluster}, e.Targets); diff != "" {
			t.Errorf("%v goes to (-want +got)\n%s", e.Pattern, diff)
		}
	}
	want := []string{
		"AWS Health Event", "EC2 Capacity Reservation Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
		"EC2 Instance State-change Notification", "EC2 Spot Instance Interruption Warning",
	}
	if diff := cmp.Diff(want, inOrder(kinds)); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

// The calls of the module that the manual shows set only variables that the module has.
func TestManualCallsTheModule(t *testing.T) {
	pages, err := manual.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, page := range pages {
		for _, b := range page.Blocks {
			if b.Language != "hcl" {
				continue
			}
			calls++
			inputs, err := terraform.Call(b.Text, "./deploy/terraform")
			if err == nil {
				_, err = module(t).Plan(facts, inputs)
			}
			if err != nil {
				t.Errorf("%s: %v", b.Where(), err)
			}
		}
	}
	if calls == 0 {
		t.Error("no page shows how the module is called")
	}
}
