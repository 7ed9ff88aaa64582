package offline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

// static returns the nodes that static NodePools lack, and adds them to Static. Each has the cheapest type and
// offering that the template of its NodePool allows. Pending pods may be placed on them, as on nodes that are being
// launched. NodePools with another enforcement mode than Auto get none.
func (a *assembly) static() []*corev1.Node {
	if a.off.Static {
		return nil
	}
	var out []*corev1.Node
	for _, o := range a.Delta.Pools {
		pool := model.NewPool(o, a.Labels.Aliases)
		if !pool.Static() || pool.Mode(apiv1.ModeAuto) != apiv1.ModeAuto {
			continue
		}
		want := *o.Spec.Replicas
		if limit, ok := pool.Limits[model.Nodes]; ok {
			want = min(want, limit)
		}
		if want > mostMade {
			a.errs = append(a.errs, a.set.Error(o, "NodePool", "spec.replicas", fmt.Sprintf("is %d, at most %d nodes are simulated", want, mostMade)))
			continue
		}
		if want < *o.Spec.Replicas {
			a.warn("NodePool %s: spec.replicas is %d, but spec.limits.nodes is %d: no more nodes than that are launched", pool.Name, *o.Spec.Replicas, want)
		}
		missing := int(want) - a.given(pool.Name)
		if missing <= 0 {
			continue
		}
		t, offer, ok := cheapest(a.Delta.Types[pool.Name], pool)
		if !ok {
			a.warn("NodePool %s: no instance type meets its requirements: %s cannot be launched", pool.Name, units.Counted(missing, "static node"))
			continue
		}
		for i := range missing {
			out = append(out, staticNode(pool, t, offer, fmt.Sprintf("%s-static-%d", pool.Name, i+1)))
			a.Static = append(a.Static, NodeResult{
				Pool: pool.Name, InstanceType: t.Name, CapacityType: offer.CapacityType, Zone: offer.Zone, PricePerHour: offer.Price,
				Options: []string{t.Name}, Pods: []string{},
			})
		}
	}
	return out
}

// given returns the number of nodes of the pool in the manifests. It is the number of Nodes or of NodeClaims,
// whichever is larger.
func (a *assembly) given(pool string) int {
	nodes, claims := 0, 0
	for _, o := range manifest.Of[*corev1.Node](a.set) {
		if o.Labels[apiv1.NodePoolLabelKey] == pool {
			nodes++
		}
	}
	for _, o := range manifest.Of[*apiv1.NodeClaim](a.set) {
		if o.Labels[apiv1.NodePoolLabelKey] == pool {
			claims++
		}
	}
	return max(nodes, claims)
}

// cheapest returns the type and offering with the lowest price that the pool allows. Of equal prices it returns the
// first by name.
func cheapest(types []*model.InstanceType, pool *model.Pool) (best *model.InstanceType, offer model.Offering, ok bool) {
	for _, t := range types {
		if _, fits := pool.Requirements.Intersects(t.Requirements); !fits {
			continue
		}
		o, found := t.Cheapest(pool.Requirements)
		if found && (!ok || cmp.Or(cmp.Compare(o.Price, offer.Price), cmp.Compare(t.Name, best.Name)) < 0) {
			best, offer, ok = t, o, true
		}
	}
	return best, offer, ok
}

// staticNode returns a node of the pool with the given type and offering.
func staticNode(pool *model.Pool, t *model.InstanceType, offer model.Offering, name string) *corev1.Node {
	labels := maps.Clone(pool.Labels)
	maps.Copy(labels, t.Requirements.Labels())
	maps.Copy(labels, offer.Requirements.Labels())
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: maps.Clone(pool.Object.Spec.Template.Annotations)},
		Spec:       corev1.NodeSpec{Taints: slices.Clone(pool.Taints)},
		Status:     corev1.NodeStatus{Capacity: t.Capacity.List(), Allocatable: t.Allocatable.List()},
	}
}
