package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/karpenter-go/karpenter/provider/aws/policy"
)

const root = "../../"

// What is generated is what is checked in.
func TestUpToDate(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		have, err := os.ReadFile(root + name)
		if err != nil || string(have) != string(want) {
			t.Errorf("%s is stale (%v): run go run ./hack/deploy", name, err)
		}
	}
}

// actions are all actions that the one source allows, sorted.
func actions() []string {
	var all []string
	for _, p := range policy.All(policy.Scope{}) {
		for _, s := range p.Statements {
			all = append(all, s.Action...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// stackOf reads the CloudFormation template.
func stackOf(t *testing.T) *yaml.Node {
	t.Helper()
	text, err := os.ReadFile(root + "deploy/cloudformation/karpenter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0]
}

func get(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		var found *yaml.Node
		for i := 0; n != nil && i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
			}
		}
		n = found
	}
	return n
}

func keysOf(n *yaml.Node) []string {
	var keys []string
	for i := 0; n != nil && i < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}

var (
	inSub     = regexp.MustCompile(`\$\{([A-Za-z0-9:.]+)\}`)
	knownType = regexp.MustCompile(`^AWS::(IAM::Role|IAM::ManagedPolicy|EKS::AccessEntry|EKS::PodIdentityAssociation|SQS::Queue|SQS::QueuePolicy|Events::Rule)$`)
)

// Every name that the template refers to is a parameter, a resource, a condition, or one that AWS knows.
func TestStackRefersToWhatIsThere(t *testing.T) {
	stack := stackOf(t)
	names := slices.Concat(keysOf(get(stack, "Parameters")), keysOf(get(stack, "Resources")), keysOf(get(stack, "Conditions")))
	check := func(name string) {
		name, _, _ = strings.Cut(name, ".")
		if !strings.HasPrefix(name, "AWS::") && !slices.Contains(names, name) {
			t.Errorf("%q is nowhere", name)
		}
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		switch n.Tag {
		case "!Ref", "!GetAtt":
			check(n.Value)
		case "!Sub":
			for _, m := range inSub.FindAllStringSubmatch(n.Value, -1) {
				check(m[1])
			}
		case "!If":
			check(n.Content[0].Value)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(stack)
	resources := get(stack, "Resources")
	for _, name := range keysOf(resources) {
		if kind := get(resources, name, "Type"); kind == nil || !knownType.MatchString(kind.Value) {
			t.Errorf("resource %s has the type %v", name, kind)
		}
		if condition := get(resources, name, "Condition"); condition != nil {
			check(condition.Value)
		}
	}
}

// Both kinds of roles have all policies, these allow what the one source allows, and each fits what IAM takes.
func TestStackAllowsWhatIsNeeded(t *testing.T) {
	resources := get(stackOf(t), "Resources")
	var allowed []string
	for _, p := range policy.All(policy.Scope{}) {
		document := get(resources, p.Name+"Policy", "Properties", "PolicyDocument")
		if document == nil {
			t.Fatalf("no policy %s", p.Name)
		}
		text := inSub.ReplaceAllString(document.Value, "x")
		var parsed struct{ Statement []struct{ Action []string } }
		if err := json.Unmarshal([]byte(text), &parsed); err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		for _, s := range parsed.Statement {
			allowed = append(allowed, s.Action...)
		}
		if n := len(strings.Join(strings.Fields(document.Value), "")); n > 6144 {
			t.Errorf("policy %s has %d characters, IAM takes 6144", p.Name, n)
		}
		for _, role := range []string{"ControllerRolePodIdentity", "ControllerRoleIRSA"} {
			if !slices.ContainsFunc(get(resources, role, "Properties", "ManagedPolicyArns").Content, func(n *yaml.Node) bool {
				return n.Value == p.Name+"Policy"
			}) {
				t.Errorf("%s has no policy %s", role, p.Name)
			}
		}
	}
	slices.Sort(allowed)
	if diff := cmp.Diff(actions(), slices.Compact(allowed)); diff != "" {
		t.Errorf("actions (-source +stack):\n%s", diff)
	}
}

var (
	declared  = regexp.MustCompile(`(?m)^(resource|data|variable|output)\s+"([a-z0-9_]+)"(?:\s+"([a-z0-9_]+)")?`)
	reference = regexp.MustCompile(`\b(var\.[a-z_]+|local\.[a-z_]+|data\.aws_[a-z_]+\.[a-z_]+|aws_[a-z0-9_]+\.[a-z_]+)`)
	local     = regexp.MustCompile(`(?m)^  ([a-z_]+)\s*=`)
)

// The Terraform module refers to what it declares, brackets close, and its policies are JSON once they are filled in.
func TestTerraform(t *testing.T) {
	files, err := filepath.Glob(root + "deploy/terraform/*.tf")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	all := ""
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range []string{"{}", "[]", "()"} {
			if strings.Count(string(text), pair[:1]) != strings.Count(string(text), pair[1:]) {
				t.Errorf("%s: %s do not match", f, pair)
			}
		}
		all += string(text)
	}
	have := map[string]bool{}
	for _, m := range declared.FindAllStringSubmatch(all, -1) {
		switch m[1] {
		case "variable":
			have["var."+m[2]] = true
		case "data":
			have["data."+m[2]+"."+m[3]] = true
		case "resource":
			have[m[2]+"."+m[3]] = true
		}
	}
	_, locals, _ := strings.Cut(all, "locals {")
	for _, m := range local.FindAllStringSubmatch(locals[:strings.Index(locals, "\n}")], -1) {
		have["local."+m[1]] = true
	}
	for _, m := range reference.FindAllStringSubmatch(all, -1) {
		if !have[m[1]] {
			t.Errorf("%s is declared nowhere", m[1])
		}
	}
	var allowed []string
	for _, p := range policy.All(policy.Scope{}) {
		if !strings.Contains(all, `"`+p.Name+`"`) {
			t.Errorf("main.tf does not attach %s", p.Name)
		}
		text, err := os.ReadFile(root + "deploy/terraform/policies/" + p.Name + ".json.tftpl")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\$\{([a-z_]+)\}`).FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(all, "    "+m[1]+" ") {
				t.Errorf("%s wants %s, which main.tf does not give", p.Name, m[1])
			}
		}
		var parsed struct{ Statement []struct{ Action []string } }
		if err := json.Unmarshal(text, &parsed); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		for _, s := range parsed.Statement {
			allowed = append(allowed, s.Action...)
		}
	}
	slices.Sort(allowed)
	if diff := cmp.Diff(actions(), slices.Compact(allowed)); diff != "" {
		t.Errorf("actions (-source +module):\n%s", diff)
	}
}

// Both send the same five kinds of events to the queue.
func TestEvents(t *testing.T) {
	stack, err := os.ReadFile(root + "deploy/cloudformation/karpenter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(root + "deploy/terraform/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{
		"AWS Health Event", "EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
		"EC2 Instance State-change Notification", "EC2 Capacity Reservation Instance Interruption Warning",
	} {
		if !strings.Contains(string(stack), `"`+event+`"`) || !strings.Contains(string(module), `"`+event+`"`) {
			t.Errorf("%s does not reach the queue", event)
		}
	}
}
