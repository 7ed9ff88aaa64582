package problem

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Accept adds a command that removes the candidates in set, and applies its effects to the cluster. If budgets do not
// allow a voluntary command or a repair, it returns a refusal and changes nothing. A command for expiry and a forced
// repair are charged to budgets but never refused.
func (st *State) Accept(cmd model.Command, set ...*Candidate) model.Verdict {
	forced := status.Forced(cmd.Reason)
	if !forced || cmd.Repair != nil {
		if v := st.Allow(set, cmd.Reason); !v.OK() {
			return v
		}
	}
	if !forced {
		st.Budgets.Take(poolsOf(set))
		st.voluntary += len(set)
	}
	for _, c := range set {
		if forced {
			st.Budgets.TakeForced(c.Node)
		}
		st.evicted = st.Problem.pdbs.Take(st.evicted, c.Evictions)
		st.Remove(c)
		cmd.Nodes = append(cmd.Nodes, c.Node)
	}
	slices.SortFunc(cmd.Nodes, func(a, b *model.Node) int { return strings.Compare(a.Name, b.Name) })
	st.markTargets(cmd.Placements)
	launched := st.replacementNodes(cmd.Replacements)
	cluster := st.Problem.without(st.Cluster, nodesIn(st.Cluster, set)).Bound(cmd.Placements).Apply(launched).WithoutPending()
	st.Cluster = cluster.Close(func(n *model.Node) bool {
		return slices.ContainsFunc(launched.Claims, func(c *apiv1.NodeClaim) bool { return c.Name == n.Name })
	})
	cmd.Replacements = st.Problem.withOwnTypes(cmd.Replacements)
	st.Commands = append(st.Commands, cmd)
	return model.Verdict{}
}

// replacementNodes returns the change that adds the replacements, as NodeClaims that are not launched, with their pods. They
// must be closed, because no other pods may be planned onto them until they are initialized.
func (st *State) replacementNodes(replacements []model.PlannedNode) model.Delta {
	var change model.Delta
	for i := range replacements {
		r := &replacements[i]
		st.planned++
		st.Launching[r.Pool.Name]++
		name := fmt.Sprintf("planned-%d", st.planned)
		labels := maps.Clone(r.Pool.Labels)
		maps.Copy(labels, r.Requirements.Labels())
		labels[apiv1.NodePoolLabelKey] = r.Pool.Name
		claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		claim.Spec.Taints = r.Pool.Taints
		claim.Spec.Requirements = r.ClaimRequirements()
		change.Claims = append(change.Claims, claim)
		for _, p := range r.Pods {
			o := *p.Object
			o.Spec.NodeName, o.Status.Phase = model.BindingNameOf(name), corev1.PodRunning
			change.Pods = append(change.Pods, &o)
		}
	}
	change.Types = typesAfter(st.Cluster, replacements)
	return change
}

// withOwnTypes returns the replacements with the types of the Snapshot instead of the copies in the what-if, of which earlier
// nodes have used reservations and commitments.
func (p *Problem) withOwnTypes(replacements []model.PlannedNode) []model.PlannedNode {
	replacements = slices.Clone(replacements)
	for i := range replacements {
		r := &replacements[i]
		r.Options = slices.Clone(r.Options) // shared with other nodes
		for k, t := range r.Options {
			r.Options[k] = p.types[r.Pool.Name][t.Name]
		}
		for _, o := range r.Options[0].Offerings {
			if o.Compare(r.Offering) == 0 {
				r.Offering = o
			}
		}
	}
	return replacements
}

// SortByPrice sorts types by the price of their cheapest launchable offering that reqs allow, then by name. Types without
// one come last.
func SortByPrice(types []*model.InstanceType, reqs require.Set) {
	prices := make(map[*model.InstanceType]float64, len(types))
	for _, t := range types {
		prices[t] = math.Inf(1)
		if o, ok := t.Cheapest(reqs); ok {
			prices[t] = o.Price
		}
	}
	slices.SortFunc(types, func(a, b *model.InstanceType) int {
		return cmp.Or(cmp.Compare(prices[a], prices[b]), strings.Compare(a.Name, b.Name))
	})
}
