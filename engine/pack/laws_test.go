package pack_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// Every plan of a random cluster is accepted by verify, which reads the raw objects and shares no code with pack.
func TestEveryPlanIsVerified(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		s := snapshot(t, c)
		plan := pack.Solve(s, pack.Options{Labels: labels, RelaxMinValues: rapid.Bool().Draw(t, "relax")})
		if v := verify.Plan(s, plan); len(v) > 0 {
			t.Fatalf("%v\nplan:\n%s", v, plan)
		}
	})
}

// The plan does not depend on the order in which pods, types, pools and nodes are given.
func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		want := pack.Solve(snapshot(t, c), pack.Options{Labels: labels}).String()
		c.Pods = rapid.Permutation(c.Pods).Draw(t, "pods")
		c.Types = rapid.Permutation(c.Types).Draw(t, "types")
		c.Pools = rapid.Permutation(c.Pools).Draw(t, "pools")
		c.Nodes = rapid.Permutation(c.Nodes).Draw(t, "nodes")
		if got := pack.Solve(snapshot(t, c), pack.Options{Labels: labels}).String(); got != want {
			t.Fatalf("plan:\n%s\nwant:\n%s", got, want)
		}
	})
}

// A pod that gets a new node gets one too if another pod does not exist. This does not hold for existing nodes and
// limits, which the first pods use.
func TestOnePodLessPlacesNoFewer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		c.Nodes, c.Claims = nil, nil
		for i := range c.Pools {
			c.Pools[i].Limits = nil
		}
		before := refused(pack.Solve(snapshot(t, c), pack.Options{Labels: labels}))
		at := rapid.IntRange(0, len(c.Pods)-1).Draw(t, "without")
		gone := c.Pods[at]
		c.Pods = append(c.Pods[:at:at], c.Pods[at+1:]...)
		after := refused(pack.Solve(snapshot(t, c), pack.Options{Labels: labels}))
		for key := range after {
			if !before[key] {
				t.Fatalf("%s is refused once %s is not there", key, gone.Name)
			}
		}
	})
}

func refused(p *model.Plan) map[string]bool {
	out := map[string]bool{}
	for _, r := range p.Refusals {
		for _, pod := range r.Pods {
			out[pod.Key] = true
		}
	}
	return out
}

// leftOut returns the keys of the pods that the plan refuses because of one of the rules.
func leftOut(p *model.Plan, rules ...model.Rule) map[string]bool {
	out := &model.Plan{}
	for _, r := range p.Refusals {
		if slices.ContainsFunc(r.Reasons, func(v model.PoolVerdict) bool { return slices.Contains(rules, v.Verdict.Rule) }) {
			out.Refusals = append(out.Refusals, r)
		}
	}
	return refused(out)
}

func snapshot(t *rapid.T, c *scenario.Cluster) *model.Snapshot {
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawCluster(t *rapid.T) *scenario.Cluster {
	c := &scenario.Cluster{}
	for i := range rapid.IntRange(1, 6).Draw(t, "types") {
		c.Types = append(c.Types, drawType(t, i))
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "pools") {
		c.Pools = append(c.Pools, drawPool(t, i))
	}
	for i := range rapid.IntRange(1, 12).Draw(t, "pods") {
		c.Pods = append(c.Pods, drawPod(t, i))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
		c.Nodes = append(c.Nodes, drawNode(t, i, c))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "claims") {
		c.Claims = append(c.Claims, scenario.Claim{
			Name: fmt.Sprintf("claim%d", i), Pool: c.Pools[0].Name,
			Types: []string{c.Types[0].Name, rapid.SampledFrom(c.Types).Draw(t, "wish").Name},
		})
	}
	if rapid.Bool().Draw(t, "daemon") {
		c.Daemons = append(c.Daemons, scenario.Pod{Name: "agent", CPU: "200m", Memory: "300Mi", Spec: drawSpec(t)})
	}
	return c
}

func drawType(t *rapid.T, i int) scenario.Type {
	cores := rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(t, "cores")
	ty := scenario.Type{
		Name: fmt.Sprintf("t%d", i), CPU: fmt.Sprint(cores),
		Memory: fmt.Sprintf("%dGi", cores*rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "ratio")),
		Pods:   int64(rapid.IntRange(3, 20).Draw(t, "max pods")),
		Arch:   rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "arch"),
		Price:  float64(rapid.IntRange(1, 100).Draw(t, "cents")) / 100,
		Zones:  rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}}).Draw(t, "zones"),
		Labels: map[string]string{"family": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "family")},
		Out:    rapid.SampledFrom([][]string{nil, {"a/spot"}, {"a/on-demand", "b/spot"}}).Draw(t, "out"),
	}
	if rapid.Bool().Draw(t, "has spot") {
		ty.Spot = ty.Price / 3
	}
	if rapid.IntRange(0, 3).Draw(t, "gpu") == 0 {
		ty.Also = map[string]string{"nvidia.com/gpu": "2"}
	}
	return ty
}

var dedicated = corev1.Taint{Key: "dedicated", Value: "yes", Effect: corev1.TaintEffectNoSchedule}

func drawPool(t *rapid.T, i int) scenario.Pool {
	p := scenario.Pool{Name: fmt.Sprintf("pool%d", i), Weight: int32(rapid.IntRange(0, 2).Draw(t, "weight") * 10)}
	if rapid.IntRange(0, 2).Draw(t, "tainted") == 0 {
		p.Taints = []corev1.Taint{dedicated}
	}
	if rapid.IntRange(0, 2).Draw(t, "labelled") == 0 {
		p.Labels = map[string]string{"team": "blue"}
	}
	if rapid.IntRange(0, 2).Draw(t, "bounded") == 0 {
		p.Requirements = append(p.Requirements, apiv1.NodeSelectorRequirementWithMinValues{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn,
			Values: rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}}).Draw(t, "pool zones"),
		})
	}
	if rapid.IntRange(0, 3).Draw(t, "diverse") == 0 {
		two := 2
		p.Requirements = append(p.Requirements, apiv1.NodeSelectorRequirementWithMinValues{
			Key: "family", Operator: corev1.NodeSelectorOpExists, MinValues: &two,
		})
	}
	if rapid.IntRange(0, 2).Draw(t, "limited") == 0 {
		p.Limits = corev1.ResourceList{
			"cpu":   *resource.NewQuantity(int64(rapid.IntRange(1, 40).Draw(t, "cpu limit")), resource.DecimalSI),
			"nodes": *resource.NewQuantity(int64(rapid.IntRange(1, 5).Draw(t, "node limit")), resource.DecimalSI),
		}
	}
	return p
}

func drawPod(t *rapid.T, i int) scenario.Pod {
	p := scenario.Pod{
		Name: fmt.Sprintf("pod%02d", i), Count: rapid.IntRange(1, 5).Draw(t, "count"),
		CPU:    rapid.SampledFrom([]string{"", "100m", "500m", "1", "3", "20"}).Draw(t, "pod cpu"),
		Memory: rapid.SampledFrom([]string{"", "100Mi", "1Gi", "6Gi"}).Draw(t, "pod memory"),
		Spec:   drawSpec(t),
	}
	if rapid.IntRange(0, 5).Draw(t, "pod gpu") == 0 {
		p.Also = map[string]string{"nvidia.com/gpu": "1"}
	}
	return p
}

func drawSpec(t *rapid.T) corev1.PodSpec {
	var spec corev1.PodSpec
	switch rapid.IntRange(0, 5).Draw(t, "selects") {
	case 0:
		spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")}
	case 1:
		spec.NodeSelector = map[string]string{corev1.LabelArchStable: "arm64"}
	case 2:
		spec.NodeSelector = map[string]string{"team": "blue"}
	case 3:
		op := rapid.SampledFrom([]corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn}).Draw(t, "op")
		term := func(value string) corev1.NodeSelectorTerm {
			return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "family", Operator: op, Values: []string{value}},
			}}
		}
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{term("x"), term("y")},
			},
		}}
	}
	if rapid.Bool().Draw(t, "tolerates") {
		spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	return spec
}

func drawNode(t *rapid.T, i int, c *scenario.Cluster) scenario.Node {
	ty := rapid.SampledFrom(c.Types).Draw(t, "node type")
	n := scenario.Node{Name: fmt.Sprintf("node%d", i), Type: ty.Name, Zone: ty.Zones[0]}
	n.Starting, n.Deleting = rapid.Bool().Draw(t, "starting"), rapid.IntRange(0, 3).Draw(t, "going") == 0
	n.Pool = rapid.SampledFrom(c.Pools).Draw(t, "node pool").Name
	if rapid.IntRange(0, 2).Draw(t, "node tainted") == 0 {
		n.Taints = []corev1.Taint{dedicated}
	}
	if rapid.Bool().Draw(t, "busy") {
		n.Pods = []scenario.Pod{{Name: fmt.Sprintf("bound%d", i), CPU: "500m", Memory: "500Mi", Owner: "ReplicaSet"}}
	}
	return n
}

// A volume that all pods share changes no refusal if every node can attach one. Pods that are refused because of limits are not
// compared, since limits go to the pods that are planned first.
func TestSharedVolumeRefusesNoPod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		for i := range c.Types {
			c.Types[i].Attach = map[string]int{scenario.Driver: rapid.IntRange(1, 2).Draw(t, "attach")}
		}
		without := pack.Solve(snapshot(t, c), pack.Options{Labels: labels})
		c.Disks = []scenario.Disk{{Name: "all", Zones: []string{"a", "b"}}}
		for i := range c.Pods {
			c.Pods[i].Mounts = []string{"all"}
		}
		s := snapshot(t, c)
		with := pack.Solve(s, pack.Options{Labels: labels})
		was, is := refused(without), refused(with)
		for _, plan := range []*model.Plan{without, with} {
			for key := range leftOut(plan, model.RuleLimit) {
				delete(was, key)
				delete(is, key)
			}
		}
		if diff := cmp.Diff(was, is); diff != "" {
			t.Fatalf("refused without the disk (-) and with it (+):\n%s\nwithout %s\nwith %s", diff, without, with)
		}
		if v := verify.Plan(s, with); len(v) > 0 {
			t.Fatalf("%v\nplan:\n%s", v, with)
		}
	})
}
