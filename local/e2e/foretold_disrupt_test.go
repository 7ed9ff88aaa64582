package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// A forecast is what disruption would do: the nodes that it would remove, and the types of the nodes that it would launch, both
// sorted.
type forecast struct{ Gone, Come []string }

// karpenter runs the program karpenter against the cluster and returns its output.
func (e *Env) karpenter(t *testing.T, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(*binaries, cluster.ControllerName), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+e.Cluster.Dir().Kubeconfig())
	cmd.Stdin = bytes.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("karpenter %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out
}

// forecast parses the output of plan or simulate, for the nodes and pools of the scene.
func (s *scene) forecast(answer []byte) (f forecast) {
	s.t.Helper()
	type command struct {
		Nodes []string
		With  []struct{ Pool, InstanceType string }
	}
	var all struct{ Commands, Proposed []command }
	if err := json.Unmarshal(answer, &all); err != nil {
		s.t.Fatalf("read forecast: %v\n%s", err, answer)
	}
	mine := map[string]bool{}
	for _, n := range s.nodes() {
		mine[n.Name] = true
	}
	for _, c := range append(all.Commands, all.Proposed...) {
		for _, n := range c.Nodes {
			if mine[n] {
				f.Gone = append(f.Gone, n)
			}
		}
		for _, w := range c.With {
			if slices.Contains(s.pools, w.Pool) {
				f.Come = append(f.Come, w.InstanceType)
			}
		}
	}
	slices.Sort(f.Gone)
	slices.Sort(f.Come)
	return f
}

// While disruption is blocked, plan and simulate print what the controller reports. When disruption is allowed, the controller
// does the same: it removes the same nodes, and launches the same replacements.
func TestForecastComesTrue(t *testing.T) {
	t.Parallel()
	const few = 3
	s := newScene(t, "foretold")
	s.class()
	s.pool("foretold", needs{typesOf("m6i.xlarge", "m6i.2xlarge")}, func(p *apiv1.NodePool) {
		p.Annotations = map[string]string{apiv1.EnforcementModeAnnotationKey: apiv1.ModeAuto}
	})
	s.deploy("web", 9, "900m")
	s.awaitRunning("web", 9)
	s.settled(len(s.claims()))
	mode := func(mode string) {
		s.change("foretold", func(p *apiv1.NodePool) { p.Annotations[apiv1.EnforcementModeAnnotationKey] = mode })
	}
	mode(apiv1.ModeDryRun)
	s.change("foretold", lively(apiv1.Budget{Nodes: "100%"}))
	s.change("foretold", func(p *apiv1.NodePool) { // the pool now allows more types, so no node drifts
		p.Spec.Template.Spec.Requirements[0] = typesOf("m6i.large", "m6i.xlarge", "m6i.2xlarge")
	})
	s.resize("web", few)
	s.awaitRunning("web", few)
	before := map[string]string{} // instance types by node name
	s.poll(func() string {
		for _, c := range s.claims() {
			if !condition.IsTrue(&c, apiv1.ConditionTypeConsolidatable) {
				return "claim " + c.Name + " may not be consolidated yet"
			}
			before[c.Status.NodeName] = c.Labels[corev1.LabelInstanceTypeStable]
		}
		return ""
	})

	plan := s.forecast(s.karpenter(t, nil, "plan", "-o", "json"))
	if len(plan.Gone) == 0 {
		t.Fatal("the plan does nothing about nodes that stand two thirds empty")
	}
	dump := s.Kubectl(t, "get", "nodepools,nodeclaims,ec2nodeclasses,nodes,pods,poddisruptionbudgets", "-A", "-o", "json")
	if diff := cmp.Diff(plan, s.forecast(s.karpenter(t, []byte(dump), "simulate", "--consolidate", "-o", "json", "-f", "-"))); diff != "" {
		t.Errorf("simulate and plan do not tell the same (-plan +simulate):\n%s", diff)
	}
	for _, n := range plan.Gone {
		s.awaitEvent(about{kind: "Node", prefix: n, reason: "DisruptionWithheld"}, n)
	}
	for _, c := range s.claims() {
		if condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason) || before[c.Status.NodeName] == "" {
			t.Errorf("claim %s: something was done while the pool was in mode DryRun", c.Name)
		}
	}

	want := slices.Clone(plan.Come)
	for node, name := range before {
		if !slices.Contains(plan.Gone, node) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	mode(apiv1.ModeAuto)
	s.poll(func() string {
		if got := s.instancesOf("foretold"); !slices.Equal(got, want) {
			return "the claims are " + strings.Join(got, ", ") + "; foretold were " + strings.Join(want, ", ")
		}
		for _, n := range s.nodes() {
			if slices.Contains(plan.Gone, n.Name) {
				return "node " + n.Name + " is still there"
			}
		}
		return ""
	})
	s.awaitRunning("web", few)
	for _, c := range s.settled(len(want)) {
		replaces := c.Annotations[apiv1.ReplacedTypesAnnotationKey] != ""
		if stayed := before[c.Status.NodeName] != ""; stayed == replaces {
			t.Errorf("claim %s was there before: %v; it came in the place of another: %v", c.Name, stayed, replaces)
		}
	}
}
