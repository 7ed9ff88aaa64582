package disrupt

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Fleet is a simulated cluster on which decisions are executed.
type Fleet struct {
	*model.Snapshot
	launched int
}

// CarryOut changes the fleet to the state after the decision's commands. Replacements are initialized, and pods run on
// the nodes that were planned for them.
func (f *Fleet) CarryOut(d disrupt.Decision) {
	for i := range d.Commands {
		c := &d.Commands[i]
		var nodes []*model.Node
		for _, n := range c.Nodes {
			if o, ok := f.NodeByName(n.Name); ok {
				nodes = append(nodes, o)
			}
		}
		f.Snapshot = f.Without(nodes...).Bound(c.Placements).Apply(f.land(c.Replacements)).WithoutPending()
	}
}

func (f *Fleet) land(replacements []model.PlannedNode) model.Delta {
	var change model.Delta
	for i := range replacements {
		r := &replacements[i]
		f.launched++
		name, t := fmt.Sprintf("launched-%d", f.launched), r.Options[0]
		labels := maps.Clone(r.Pool.Labels)
		maps.Copy(labels, t.Requirements.Labels())
		maps.Copy(labels, r.Requirements.Labels())
		labels[corev1.LabelHostname], labels[corev1.LabelInstanceTypeStable] = name, t.Name
		labels[corev1.LabelTopologyZone], labels[apiv1.CapacityTypeLabelKey] = r.Offering.Zone, r.Offering.CapacityType
		labels[apiv1.NodeRegisteredLabelKey], labels[apiv1.NodeInitializedLabelKey] = "true", "true"
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		node.Spec.ProviderID = "aws:///" + name
		node.Status.Capacity, node.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
		change.Nodes = append(change.Nodes, node)
		for _, p := range r.Pods {
			o := *p.Object
			o.Spec.NodeName, o.Status.Phase = name, corev1.PodRunning
			change.Pods = append(change.Pods, &o)
		}
	}
	return change
}

// Price returns the price of the fleet in dollars per hour.
func (f *Fleet) Price() float64 {
	total := 0.0
	for _, n := range f.Nodes() {
		total += f.PriceOf(n)
	}
	return total
}
