package topology

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Defaults are kube-scheduler's default spread constraints, and the objects from which it derives their label
// selectors.
type Defaults struct {
	// Constraints have no label selector.
	Constraints  []corev1.TopologySpreadConstraint
	Services     []*corev1.Service
	ReplicaSets  []*appsv1.ReplicaSet
	StatefulSets []*appsv1.StatefulSet
	Controllers  []*corev1.ReplicationController
}

// Of returns a function from a pod to its default constraints. Their selector combines those of the services
// that select the pod and of its controller (see selectorOf). Without such a selector, the pod has no default constraints.
func (d Defaults) Of() func(*model.Pod) []corev1.TopologySpreadConstraint {
	services := map[string][]*corev1.Service{}
	byName := func(a, b *corev1.Service) int { return cmp.Compare(a.Name, b.Name) } // of two values of a label, the last counts
	for _, s := range slices.SortedFunc(slices.Values(d.Services), byName) {
		if s.Spec.Selector != nil {
			services[s.Namespace] = append(services[s.Namespace], s)
		}
	}
	owners := d.owners()
	return func(p *model.Pod) []corev1.TopologySpreadConstraint {
		selector := selectorOf(p.Object, services[p.Object.Namespace], owners)
		if selector == nil {
			return nil
		}
		out := slices.Clone(d.Constraints)
		for i := range out {
			out[i].LabelSelector = selector
		}
		return out
	}
}

// An owner identifies the controller of a pod.
type owner struct{ kind, namespace, name string }

// owners returns the selectors of all owners.
func (d Defaults) owners() map[owner]*metav1.LabelSelector {
	all := map[owner]*metav1.LabelSelector{}
	for _, o := range d.ReplicaSets {
		all[owner{"apps/v1 ReplicaSet", o.Namespace, o.Name}] = o.Spec.Selector
	}
	for _, o := range d.StatefulSets {
		all[owner{"apps/v1 StatefulSet", o.Namespace, o.Name}] = o.Spec.Selector
	}
	for _, o := range d.Controllers {
		all[owner{"v1 ReplicationController", o.Namespace, o.Name}] = &metav1.LabelSelector{MatchLabels: o.Spec.Selector}
	}
	return all
}

// selectorOf returns the selector for a pod's default constraints, nil if it would be empty. It joins the selectors of
// the services that select the pod and of its controller. The labels of a ReplicationController take precedence over those
// of services. The requirements of a ReplicaSet or StatefulSet are added as expressions, its labels in key order.
func selectorOf(o *corev1.Pod, services []*corev1.Service, owners map[owner]*metav1.LabelSelector) *metav1.LabelSelector {
	out, joined := &metav1.LabelSelector{}, map[string]string{}
	for _, s := range services {
		if labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(o.Labels)) {
			maps.Copy(joined, s.Spec.Selector)
		}
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		own := owners[owner{ref.APIVersion + " " + ref.Kind, o.Namespace, ref.Name}]
		switch {
		case own == nil:
		case ref.Kind == "ReplicationController":
			maps.Copy(joined, own.MatchLabels)
		default:
			out.MatchExpressions = slices.Clone(own.MatchExpressions)
			for _, k := range slices.Sorted(maps.Keys(own.MatchLabels)) {
				out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
					Key: k, Operator: metav1.LabelSelectorOpIn, Values: []string{own.MatchLabels[k]},
				})
			}
		}
	}
	switch {
	case len(joined) > 0:
		out.MatchLabels = joined
	case len(out.MatchExpressions) == 0:
		return nil
	}
	return out
}
