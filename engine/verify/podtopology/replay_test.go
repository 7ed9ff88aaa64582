package podtopology

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

const zone = corev1.LabelTopologyZone

// A world is a small cluster in which planned pods have spread constraints and affinity over zones or hosts.
type world struct {
	nodes []*Node
	pods  []*corev1.Pod
	at    map[*corev1.Pod]*Node
}

// drawWorld draws two or three nodes with at most one running pod each, and up to five planned pods.
func drawWorld(t *rapid.T) *world {
	w := &world{at: make(map[*corev1.Pod]*Node)}
	pod := func(name string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		for _, label := range []string{"a", "b"} {
			if rapid.Bool().Draw(t, "label") {
				p.Labels[label] = "x"
			}
		}
		return p
	}
	for i := range rapid.IntRange(2, 3).Draw(t, "nodes") {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{
			zone: rapid.SampledFrom([]string{"z1", "z2"}).Draw(t, "zone"), corev1.LabelHostname: fmt.Sprint("n", i),
		}}}
		node := &Node{Name: n.Name, Labels: []*nodematch.LabelSet{nodematch.Of(n)}}
		if rapid.Bool().Draw(t, "running") {
			node.Running = append(node.Running, pod(fmt.Sprint("r", i)))
		}
		w.nodes = append(w.nodes, node)
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "planned") {
		p, n := pod(fmt.Sprint("p", i)), rapid.SampledFrom(w.nodes).Draw(t, "node")
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "selected"): "x"}}
		key := rapid.SampledFrom([]string{zone, corev1.LabelHostname}).Draw(t, "key")
		switch rapid.IntRange(0, 3).Draw(t, "rule") {
		case 0, 1:
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: int32(rapid.IntRange(1, 2).Draw(t, "skew")), TopologyKey: key, LabelSelector: selector,
				WhenUnsatisfiable: corev1.DoNotSchedule,
			}}
		case 2:
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: selector}},
			}}
		}
		n.Planned = append(n.Planned, &model.Pod{Object: p})
		w.pods, w.at[p] = append(w.pods, p), n
	}
	return w
}

// accepted reports whether a pod satisfies its rules together with the running pods and the placed pods. It counts pod by pod
// and shares no code with the replay.
func (w *world) accepted(p *corev1.Pod, placed []*corev1.Pod) bool {
	in := func(n *Node, key string) string { return n.Labels[0].Labels()[key] }
	each := func(f func(*corev1.Pod, *Node)) {
		for _, n := range w.nodes {
			for _, r := range n.Running {
				f(r, n)
			}
		}
		for _, o := range placed {
			f(o, w.at[o])
		}
	}
	for _, c := range p.Spec.TopologySpreadConstraints {
		selector, _ := metav1.LabelSelectorAsSelector(c.LabelSelector)
		counts := map[string]int{}
		for _, n := range w.nodes {
			counts[in(n, c.TopologyKey)] += 0
		}
		each(func(o *corev1.Pod, n *Node) {
			if selector.Matches(labels.Set(o.Labels)) {
				counts[in(n, c.TopologyKey)]++
			}
		})
		own, least := counts[in(w.at[p], c.TopologyKey)], 1000
		if selector.Matches(labels.Set(p.Labels)) {
			own++
		}
		for _, n := range counts {
			least = min(least, n)
		}
		if own-least > int(c.MaxSkew) {
			return false
		}
	}
	terms, _ := requiredTerms(p)
	for _, term := range terms {
		selector, _ := metav1.LabelSelectorAsSelector(term.LabelSelector)
		near, anywhere := 0, 0
		each(func(o *corev1.Pod, n *Node) {
			if selector.Matches(labels.Set(o.Labels)) {
				anywhere++
				if in(n, term.TopologyKey) == in(w.at[p], term.TopologyKey) {
					near++
				}
			}
		})
		if near == 0 && (anywhere > 0 || !selector.Matches(labels.Set(p.Labels))) {
			return false
		}
	}
	return true
}

// check returns the violations of the world if the pods are placed in that order.
func (w *world) check(order []*corev1.Pod) []Violation {
	rules := NewRules(nil)
	for _, n := range w.nodes {
		for _, p := range n.Running {
			rules.AddBound(p)
		}
	}
	for _, p := range w.pods {
		rules.AddPlanned(p, nil, p.Spec.TopologySpreadConstraints)
	}
	var planned []*model.Pod
	for _, p := range order {
		planned = append(planned, &model.Pod{Object: p})
	}
	return rules.Check(w.nodes, planned)
}

// Check accepts a plan with an order exactly if each pod of the order satisfies its rules among the pods before it. A simple
// count, pod by pod, decides that. Check accepts a plan without an order only if such an order exists.
func TestReplayAgreesWithCounting(t *testing.T) {
	orders, without := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		order := rapid.Permutation(w.pods).Draw(t, "order")
		var placed, refused []*corev1.Pod
		for _, p := range order {
			if w.accepted(p, placed) {
				placed = append(placed, p)
			} else {
				refused = append(refused, p)
			}
		}
		found := w.check(order)
		if len(found) != len(refused) {
			t.Fatalf("violations %v, but counting refuses %d pods", found, len(refused))
		}
		if len(refused) == 0 {
			orders++
		}
		if len(w.check(nil)) == 0 {
			without++
			if !w.anyOrder(w.pods, nil) {
				t.Fatal("the plan is accepted without an order, and there is none")
			}
		}
	})
	if orders == 0 || without == 0 {
		t.Errorf("%d orders and %d plans without order were accepted", orders, without)
	}
}

// anyOrder reports whether the pods that are left can be placed in some order.
func (w *world) anyOrder(left, placed []*corev1.Pod) bool {
	return len(left) == 0 || slices.ContainsFunc(left, func(p *corev1.Pod) bool {
		if !w.accepted(p, placed) {
			return false
		}
		rest := slices.DeleteFunc(slices.Clone(left), func(o *corev1.Pod) bool { return o == p })
		return w.anyOrder(rest, append(slices.Clone(placed), p))
	})
}

// A node with one possible value of a label that it may also lack has no certain domain.
func TestLabelThatMayBeMissing(t *testing.T) {
	of := func(labels map[string]string) *nodematch.LabelSet {
		return nodematch.Of(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
	}
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "x"}}}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "x"}}
	near := pod("near")
	near.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: zone, LabelSelector: selector}},
	}}
	spread := pod("spread")
	spread.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: zone, LabelSelector: selector, WhenUnsatisfiable: corev1.DoNotSchedule,
	}}
	for _, tt := range []struct {
		name    string
		planned *corev1.Pod
		missing bool // the node in z1 may lack the label
		want    int
	}{
		{"affinity", near, false, 0},
		{"affinity, but the node of the other pod may lack the label", near, true, 1},
		{"spread", spread, false, 0},
		{"spread, but the pod of the other domain may be in none", spread, true, 1},
	} {
		other := &Node{Name: "other", Running: []*corev1.Pod{pod("other")}, Labels: []*nodematch.LabelSet{of(map[string]string{zone: "z1"})}}
		if tt.missing {
			other.Labels = append(other.Labels, of(nil))
		}
		there := &Node{Name: "there", Planned: []*model.Pod{{Object: tt.planned}}, Labels: []*nodematch.LabelSet{of(map[string]string{zone: "z1"})}}
		if tt.planned == spread {
			there.Labels = []*nodematch.LabelSet{of(map[string]string{zone: "z2"})}
			there.Running = []*corev1.Pod{pod("first")}
		}
		w := &world{nodes: []*Node{other, there}, pods: []*corev1.Pod{tt.planned}}
		if found := w.check(nil); len(found) != tt.want {
			t.Errorf("%s: violations %v, want %d", tt.name, found, tt.want)
		}
	}
}
