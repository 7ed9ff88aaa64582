package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/operator"
)

const examples = "../../../examples/"

// plans are the NodePools of the nodes that the workload of each example gets, by example. The list is empty if an example has
// no workload.
var plans = map[string][]string{
	"batch":               {"batch"},
	"big-disks":           {"scratch"},
	"bottlerocket":        {"bottlerocket"},
	"budgets-by-calendar": {"office"},
	"capacity-buffer":     {"default"},
	"ci-on-spot":          {"ci"},
	"custom-ami":          {"custom"},
	"dedicated-tenancy":   {"dedicated"},
	"dense-nodes":         {"dense"},
	"efa":                 {"hpc"},
	"gpu":                 {"gpu"},
	"graviton":            {"amd64", "arm64"},
	"high-availability":   {"ha"},
	"local-nvme":          {"nvme"},
	"multi-team":          {"blue", "red", "shared"},
	"neuron":              {"neuron"},
	"node-overlay":        {"default"},
	"on-demand-base":      {"base", "burst"},
	"quickstart":          nil,
	"reserved-capacity":   {"reserved"},
	"spot-diversity":      {"diverse"},
	"spot-with-fallback":  {"spot"},
	"startup-taints":      {"cilium"},
	"stateful":            {"stateful"},
	"static-capacity":     nil,
	"two-environments":    {"production", "staging"},
	"windows":             {"windows"},
}

// run runs a command and returns what it printed.
func run(t *testing.T, c *cobra.Command, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(&out)
	c.SetErr(&errs)
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// Every example is free of mistakes, and all its pods get nodes of the expected NodePools.
func TestExamples(t *testing.T) {
	dirs, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		name := dir.Name()
		if name == "helm" || name == "legacy" || name == "migrate" || name == "providers" {
			continue // other tests check these directories
		}
		want, ok := plans[name]
		if !ok {
			t.Errorf("examples/%s has no plan here: add it", name)
			continue
		}
		t.Run(name, func(t *testing.T) { example(t, filepath.Join(examples, name), want) })
	}
	if len(dirs) < len(plans) {
		t.Errorf("%d directories, %d plans", len(dirs), len(plans))
	}
}

func example(t *testing.T, dir string, want []string) {
	found, _, err := run(t, lintCommand(operator.Version{}), "-f", dir)
	if err != nil || !strings.HasPrefix(found, "0 errors, 0 warnings") {
		t.Errorf("lint: %v\n%s", err, found)
	}
	out, errs, err := run(t, simulateCommand(), "-f", dir, "-o", "json")
	if err != nil {
		t.Fatalf("simulate: %v\n%s", err, errs)
	}
	var plan struct {
		Pods, Placed int
		Nodes        []struct{ Pool string }
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatal(err)
	}
	var pools []string
	for _, n := range plan.Nodes {
		pools = append(pools, n.Pool)
	}
	slices.Sort(pools)
	if diff := cmp.Diff(want, slices.Compact(pools)); diff != "" || plan.Placed != plan.Pods {
		t.Errorf("%d of %d pods placed; pools (-want +got):\n%s", plan.Placed, plan.Pods, diff)
	}
}

// The conversion of the legacy example is free of mistakes.
func TestLegacyExample(t *testing.T) {
	out, warnings, err := run(t, convertCommand(), "-f", examples+"legacy")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "# no burstable ones") || !strings.Contains(warnings, "warning: ") {
		t.Errorf("output\n%s\nwarnings\n%s", out, warnings)
	}
	file := filepath.Join(t.TempDir(), "new.yaml")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, _, err := run(t, lintCommand(operator.Version{}), "-f", file); err != nil || !strings.HasPrefix(found, "0 errors, 0 warnings") {
		t.Errorf("lint: %v\n%s", err, found)
	}
	if _, _, err := run(t, lintCommand(operator.Version{}), "-f", examples+"legacy"); codeOf(err) != exitBadInput {
		t.Errorf("lint of old kinds: %v", err)
	}
}

// Files are written one by one, under their own names.
func TestConvertToDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if _, _, err := run(t, convertCommand(), "-f", examples+"legacy", "-f", examples+"quickstart", "--output-dir", dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "v1alpha5.yaml"))
	if err != nil || !strings.Contains(string(text), "kind: EC2NodeClass") {
		t.Errorf("%v\n%s", err, text)
	}
	want, _ := os.ReadFile(examples + "quickstart/nodepool.yaml")
	if got, err := os.ReadFile(filepath.Join(dir, "nodepool.yaml")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: a file of v1 has changed:\n%s", err, got)
	}
}
