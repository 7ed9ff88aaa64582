package verify

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// inOrder returns a function that sets the order of a plan: the names of pods, first to last.
func inOrder(names ...string) func(*model.Plan) {
	return func(p *model.Plan) {
		all := slices.Clone(p.Nodes[0].Pods)
		for _, pl := range p.Placements {
			all = append(all, pl.Pods...)
		}
		for _, name := range names {
			i := slices.IndexFunc(all, func(o *model.Pod) bool { return o.Key == "default/"+name })
			p.Order = append(p.Order, all[i])
		}
	}
}

// hasRevision selects every pod with the label rev.
var hasRevision = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
	{Key: "rev", Operator: metav1.LabelSelectorOpExists},
}}

// web-1 and web-2 are on the planned node. web-1 is spread over hosts with the pods of its app, web-2 with all pods that
// have the label rev. Both constraints select both pods. If another node is empty, the second pod on the planned node exceeds
// its maxSkew of 1, so both pods would have to be first.
func TestOrderOfSpread(t *testing.T) {
	crossed := func(empty bool, skew int32) func(*story) {
		return social(func(st *story) {
			spreadBy(st.web[0], host, nil)
			spreadBy(st.web[1], host, func(c *corev1.TopologySpreadConstraint) { c.MaxSkew, c.LabelSelector = skew, hasRevision })
			if empty {
				node := st.old.DeepCopy()
				node.Name, node.Spec.ProviderID = "empty", "id-empty"
				st.around.Nodes = append(st.around.Nodes, node)
				st.pool.Spec.Limits = nil
			}
		})
	}
	const first, second = "spread: planned node 0 (default), pod default/web-1: with it", "spread: planned node 0 (default), pod default/web-2: with it"
	for _, tt := range []spoiled{
		{name: "there is no order", cluster: crossed(true, 1), want: second, only: true},
		{name: "each order of the plan is wrong", cluster: crossed(true, 1), plan: inOrder("web-3", "web-4", "web-2", "web-1"), want: first, only: true},
		{name: "there is an order", cluster: crossed(true, 2)},
		{name: "the plan has that order", cluster: crossed(true, 2), plan: inOrder("web-1", "web-2", "web-3", "web-4")},
		{name: "the plan has another order", cluster: crossed(true, 2), plan: inOrder("web-2", "web-1", "web-3", "web-4"), want: first, only: true},
		{name: "no node is empty", cluster: crossed(false, 1)},
		{name: "the plan fills each node first", cluster: crossed(false, 1), plan: inOrder("web-1", "web-4", "web-3", "web-2")},
		{name: "the order lacks pods", cluster: crossed(false, 1), plan: inOrder("web-1")},
	} {
		t.Run(tt.name, tt.run)
	}
}

// A pod with affinity is accepted only if a pod that meets the affinity precedes it in the order, or if the first-pod rule
// applies.
func TestOrderOfAffinity(t *testing.T) {
	needs := social(func(st *story) {
		st.web[1].Labels["app"] = "db"
		with(st.web[0], near(host, "db"))
	})
	// web-1 may use the first-pod rule until web-3 is placed, which its affinity selects too.
	seed := social(func(st *story) {
		with(st.web[0], near(host, "web"))
		with(st.web[2], near(host, "there"))
		st.web[1].Labels, st.web[3].Labels = nil, nil
	})
	const refused = "affinity: planned node 0 (default), pod default/web-1: " + noCompany
	for _, tt := range []spoiled{
		{name: "after the other pod", cluster: needs, plan: inOrder("web-2", "web-1", "web-3", "web-4")},
		{name: "before the other pod", cluster: needs, plan: inOrder("web-1", "web-2", "web-3", "web-4"), want: refused, only: true},
		{name: "the first pod", cluster: seed, plan: inOrder("web-2", "web-1", "web-4", "web-3")},
		{name: "not the first pod", cluster: seed, plan: inOrder("web-2", "web-3", "web-4", "web-1"), want: refused, only: true},
	} {
		t.Run(tt.name, tt.run)
	}
}
