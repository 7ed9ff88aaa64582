package pack_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// manyTypes returns a cluster with 300 instance types, each with a value of its own for three well-known labels, and 20 pods of the
// namespace shop that differ in cpu.
func manyTypes(t *testing.T) model.Delta {
	t.Helper()
	var b strings.Builder
	b.WriteString("pools: [{name: default}]\ntypes:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "- {name: m%03d.large, cpu: %d, memory: %dGi, price: %.2f, zones: [a, b], labels: {", i, 4+i%8, 16+4*(i%8), 0.2+0.05*float64(i%8))
		fmt.Fprintf(&b, "family: f%03d, generation: g%03d", i, i)
		b.WriteString("}}\n")
	}
	b.WriteString("pods:\n")
	for i := range 20 {
		fmt.Fprintf(&b, "- {name: web-%02d, namespace: shop, cpu: %dm, memory: 1Gi}\n", i, 1000+i)
	}
	var c scenario.Cluster
	if err := yaml.UnmarshalStrict([]byte(b.String()), &c); err != nil {
		t.Fatal(err)
	}
	d, err := c.Delta()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func antiAffinity(term corev1.PodAffinityTerm) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
}

// refusedOf returns how many pods of the namespace the plan refuses.
func refusedOf(p *model.Plan, namespace string) (n int) {
	for _, r := range p.Refusals {
		for _, pod := range r.Pods {
			if pod.Object.Namespace == namespace {
				n++
			}
		}
	}
	return n
}

// planned returns the plan without refusals.
func planned(p *model.Plan) string {
	var lines []string
	for _, line := range strings.Split(p.String(), "\n") {
		if !strings.HasPrefix(line, "refuse ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// A pod of the namespace evil leaves the plan for the namespace shop as it is without that pod.
func TestPodLeavesThePlanOfOthers(t *testing.T) {
	allPods := corev1.PodAffinityTerm{
		TopologyKey: corev1.LabelInstanceTypeStable, LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{},
	}
	for _, tt := range []struct {
		name  string
		spoil func(*corev1.Pod)
		cause model.Cause
	}{
		{"anti-affinity to all pods over the instance type", func(p *corev1.Pod) { p.Spec.Affinity = antiAffinity(allPods) }, model.CauseOtherNamespaces},
		{"the same of a pod that no node takes", func(p *corev1.Pod) {
			p.Spec.Affinity = antiAffinity(allPods)
			p.Spec.NodeSelector = map[string]string{"no": "where"}
		}, model.CauseOtherNamespaces},
		{"affinity to all pods over the instance type", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{allPods}}}
		}, model.CauseOtherNamespaces},
		{"1,000 resources that nothing has", func(p *corev1.Pod) {
			for i := range 1000 {
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(fmt.Sprintf("example.com/r%d", i))] = resource.MustParse("1")
			}
		}, model.CauseNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := manyTypes(t)
			want := planned(pack.Solve(model.Compile(d), pack.Options{Labels: labels}))
			p := evil(0)
			tt.spoil(p)
			d.Pods = append(d.Pods, p)
			plan := pack.SolveChecked(model.Compile(d), pack.Options{Labels: labels}).Plan
			if got := planned(plan); got != want {
				t.Errorf("plan:\n%s\nwant:\n%s", got, want)
			}
			if n := refusedOf(plan, "evil"); n != 1 || plan.Refusals[0].Reasons[0].Verdict.Cause != tt.cause {
				t.Errorf("%d pods are refused: %v", n, plan.Refusals)
			}
		})
	}
}

// Required anti-affinity of a running pod over the instance type, to the pods of all namespaces, excludes its instance type from new
// nodes. The other types remain.
func TestRunningPodKeepsOneTypeFromOthers(t *testing.T) {
	d := manyTypes(t)
	want := pack.Solve(model.Compile(d), pack.Options{Labels: labels})
	var c scenario.Cluster
	if err := yaml.UnmarshalStrict([]byte(`
pools: [{name: default}]
types: [{name: m000.large, cpu: 4, memory: 16Gi, price: 0.20}]
nodes: [{name: old, pool: default, type: m000.large, zone: a, pods: [{name: evil, namespace: evil, cpu: 3900m}]}]
`), &c); err != nil {
		t.Fatal(err)
	}
	old, err := c.Delta()
	if err != nil {
		t.Fatal(err)
	}
	old.Pods[0].Spec.Affinity = antiAffinity(corev1.PodAffinityTerm{
		TopologyKey: corev1.LabelInstanceTypeStable, LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{},
	})
	d.Pods, d.Nodes, d.Claims = append(d.Pods, old.Pods...), old.Nodes, old.Claims
	got := pack.SolveChecked(model.Compile(d), pack.Options{Labels: labels}).Plan
	if len(got.Nodes) != len(want.Nodes) || refusedOf(got, "shop") > 0 {
		t.Fatalf("plan:\n%s\nwant as many nodes as:\n%s", got, want)
	}
	for i := range got.Nodes {
		options := got.Nodes[i].Options
		if len(options) < 30 {
			t.Errorf("node %d has %d instance types", i, len(options))
		}
		for _, o := range options {
			if o.Name == "m000.large" {
				t.Errorf("node %d may be of the type of the running pod", i)
			}
		}
	}
}

// A pod that must be alone in its domains of the zone and of three labels with 300 values each has 54 million combinations of domains,
// of which 600 exist.
func TestCombinationsOfDomainsAreBounded(t *testing.T) {
	d := manyTypes(t)
	p := evil(0)
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable, "family", "generation"} {
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
			p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}})
	}
	d.Pods = append(d.Pods, p)
	plan := pack.SolveChecked(model.Compile(d), pack.Options{Labels: labels}).Plan
	if n := len(plan.Refusals); n > 0 {
		t.Errorf("%d refusals: %v", n, plan.Refusals)
	}
}

// The memory for preferences grows no faster than their number.
func TestPreferencesCostLinearly(t *testing.T) {
	allocated := func(n int) uint64 {
		d := manyTypes(t)
		p := evil(0)
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
		for i, term := range affinityTerms(n, corev1.LabelHostname) {
			p.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
				p.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.WeightedPodAffinityTerm{Weight: int32(i%100 + 1), PodAffinityTerm: term})
		}
		d.Pods = append(d.Pods, p)
		s := model.Compile(d)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		pack.Solve(s, pack.Options{Labels: labels})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(500), allocated(4000)
	if many > 10*few {
		t.Errorf("%d bytes with 500 preferences, %d with 4,000", few, many)
	}
}

// One namespace has more work than its share, and a pod with the requirements of the pods of another namespace. The other pods are
// planned, and each pod of the first namespace is tried at some time.
func TestWorkIsSharedByTurns(t *testing.T) {
	d := manyTypes(t)
	d.Pods = append(d.Pods, evil(0)) // by name before all pods of shop
	const pods = 3000
	for i := range pods {
		p := evil(i + 1)
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a", "family": fmt.Sprintf("f%03d", i%300), "x": fmt.Sprint(i)}
		d.Pods = append(d.Pods, p)
	}
	tried := map[string]bool{}
	for turn := range 16 {
		plan := pack.Solve(model.Compile(d).At(time.Unix(int64(turn*30), 0)), pack.Options{Labels: labels})
		if n := refusedOf(plan, "shop"); n > 0 {
			t.Errorf("turn %d refuses %d pods of the other namespace", turn, n)
		}
		for _, r := range plan.Refusals {
			for _, p := range r.Pods {
				tried[p.Key] = tried[p.Key] || r.Reasons[0].Verdict.Rule != model.RuleEffort
			}
		}
	}
	n := 0
	for _, ok := range tried {
		if ok {
			n++
		}
	}
	if n != pods {
		t.Errorf("%d of %d pods were tried", n, pods)
	}
}

// withPorts returns a pod of the namespace evil with n host ports, from number 1+first.
func withPorts(name, first, n int) *corev1.Pod {
	p := evil(name)
	for i := range n {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{HostPort: int32(1 + (first+i)%65000), ContainerPort: 1})
	}
	return p
}

// Pods with many different host ports count as work. Those that the budget of their namespace does not cover are refused, and the
// pods of the other namespace are planned.
func TestHostPortsAreWork(t *testing.T) {
	d := manyTypes(t)
	for i := range 100 {
		d.Pods = append(d.Pods, withPorts(i, i*500, 500))
	}
	plan := pack.Solve(model.Compile(d), pack.Options{Labels: labels})
	if n := refusedOf(plan, "shop"); n > 0 {
		t.Errorf("%d pods of the other namespace are refused", n)
	}
	if n := refusedOf(plan, "evil"); n < 50 || n == 100 {
		t.Errorf("%d of 100 pods with 500 host ports are refused", n)
	}
}

// One pod with many constraints that are counted for each node costs no more memory than the work budget allows.
func TestCountsPerNodeAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("pools: [{name: default}]\ntypes: [{name: m.large, cpu: 4, memory: 16Gi, price: 0.2, zones: [a]}]\nnodes:\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "- {name: node-%04d, pool: default, type: m.large, zone: a}\n", i)
	}
	var c scenario.Cluster
	if err := yaml.UnmarshalStrict([]byte(b.String()), &c); err != nil {
		t.Fatal(err)
	}
	allocated := func(p *corev1.Pod) uint64 {
		d, err := c.Delta()
		if err != nil {
			t.Fatal(err)
		}
		d.Pods = append(d.Pods, p)
		s := model.Compile(d)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		pack.Solve(s, pack.Options{Labels: labels})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	terms := evil(0)
	terms.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: affinityTerms(10_000, corev1.LabelHostname),
	}}
	for name, p := range map[string]*corev1.Pod{"host ports": withPorts(0, 0, 20_000), "anti-affinity terms": terms} {
		if n := allocated(p); n > 200<<20 {
			t.Errorf("%s: %d MiB are allocated", name, n>>20)
		}
	}
}
