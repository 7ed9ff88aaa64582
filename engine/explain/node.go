package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
)

// Node returns why a planned node has its type, zone and pool, as sentences, most important first.
func (e *Explainer) Node(n *model.PlannedNode) []string {
	t := n.Options[0]
	out := []string{fmt.Sprintf("%s in %s, %s, costs $%.4f/h and holds %s", t.Name, n.Offering.Zone, n.Offering.CapacityType,
		n.Price(), units.Counted(len(n.Pods), "pod"))}
	if full := fill(n); full != "" {
		out = append(out, "requests use "+full+", including DaemonSets")
	}
	out = append(out, e.rivals(n))
	if narrowed := e.narrowed(n); narrowed != "" {
		out = append(out, "the pods narrow the choice to "+narrowed)
	}
	if pools := e.snapshot.Pools(); len(pools) > 1 {
		out = append(out, weightOf(n.Pool, pools))
	}
	if n.MinValuesRelaxed {
		out = append(out, "fewer values than minValues requires were found, which --min-values-policy=BestEffort allows")
	}
	return out
}

// rivals returns a sentence about the other options.
func (e *Explainer) rivals(n *model.PlannedNode) string {
	if len(n.Options) == 1 {
		return "no other instance type of NodePool " + n.Pool.Name + " holds the pods"
	}
	second, ok := n.Options[1].Cheapest(n.Requirements)
	if !ok || n.Price() == 0 {
		return units.Counted(len(n.Options)-1, "other instance type") + " would hold the pods"
	}
	dearer := (second.Price/n.Price() - 1) * 100
	return fmt.Sprintf("%s would hold the pods; the next cheapest, %s, costs %.0f%% more",
		units.Counted(len(n.Options)-1, "other instance type"), n.Options[1].Name, dearer)
}

// fill returns the used share of the node's cpu and memory, and of other resources that are at least 90% used.
func fill(n *model.PlannedNode) string {
	var parts []string
	for _, name := range n.Options[0].Allocatable.Names() { // cpu and memory first
		have, always := n.Options[0].Allocatable[name], name == corev1.ResourceCPU || name == corev1.ResourceMemory
		if have > 0 && (always || n.Used[name]*10 >= have*9) {
			parts = append(parts, fmt.Sprintf("%s %d%%", name, n.Used[name]*100/have))
		}
	}
	return strings.Join(parts, ", ")
}

// narrowed returns the requirements of the node that the pool does not have in the same form, except those that only require
// the label to exist.
func (e *Explainer) narrowed(n *model.PlannedNode) string {
	var out []string
	for r := range n.Requirements.All() {
		have, ok := n.Pool.Requirements.Get(r.Key())
		if (!ok || !have.Equal(r)) && !r.Equal(require.New(r.Key(), require.Exists)) {
			out = append(out, r.String())
		}
	}
	return each(out)
}

func weightOf(p *model.Pool, pools []*model.Pool) string {
	if p.Weight == pools[0].Weight && p.Weight > pools[len(pools)-1].Weight {
		return fmt.Sprintf("NodePool %s has the highest weight, %d", p.Name, p.Weight)
	}
	if p.Weight < pools[0].Weight {
		return fmt.Sprintf("no NodePool with a weight above %d admits the pods", p.Weight)
	}
	return fmt.Sprintf("NodePool %s and others have the same weight: the price decides", p.Name)
}
