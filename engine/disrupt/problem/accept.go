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
	v := model.Verdict{}
	switch {
	case cmd.Repair != nil:
		v = st.AllowRepair(set[0])
	case !status.Forced(cmd.Reason):
		v = st.Allow(set, cmd.Reason)
	}
	if !v.OK() {
		return v
	}
	if !status.Forced(cmd.Reason) {
		st.Budgets.Take(poolsOf(set))
		st.voluntary += len(set)
	}
	for _, c := range set {
		if status.Forced(cmd.Reason) {
			st.Budgets.Force(c.Node)
		}
		st.evicted = st.Problem.pdbs.Take(st.evicted, c.Evictions)
		st.Remove(c)
		cmd.Nodes = append(cmd.Nodes, c.Node)
	}
	slices.SortFunc(cmd.Nodes, func(a, b *model.Node) int { return strings.Compare(a.Name, b.Name) })
	st.expect(cmd.Placements)
	st.last = effect{cmd.Nodes, cmd.Placements, st.replacementNodes(cmd.Replacements)}
	st.Cluster = st.Advance(st.Cluster)
	st.Commands = append(st.Commands, st.Problem.original(cmd))
	return model.Verdict{}
}

// An effect is the change of the cluster by one accepted command.
type effect struct {
	removed  []*model.Node
	placed   []model.Placement
	launched model.Delta
}

// Advance applies the effect of the last accepted command to cluster, which must be derived from the State's cluster.
func (st *State) Advance(cluster *model.Snapshot) *model.Snapshot {
	var gone []*model.Node
	for _, n := range st.last.removed {
		if own, ok := cluster.NodeByName(n.Name); ok {
			gone = append(gone, own)
		}
	}
	launched := map[string]bool{}
	for _, c := range st.last.launched.Claims {
		launched[c.Name] = true
	}
	after := st.Problem.without(cluster, gone).Bound(st.last.placed).Apply(st.last.launched).Calm()
	return after.Close(func(n *model.Node) bool { return launched[n.Name] })
}

// replacementNodes returns the change that adds the replacements, as NodeClaims that are not launched, with their pods. They must be
// closed, because no other pods may be planned onto them until they are initialized.
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

// original returns the command with the pods, nodes and types of the Snapshot instead of their copies in the what-if.
func (p *Problem) original(cmd model.Command) model.Command {
	pods := func(list []*model.Pod) []*model.Pod {
		out := slices.Clone(list)
		for i, pod := range out {
			if o, ok := p.Snapshot.Pods.Get(pod.Key); ok {
				out[i] = o
			}
		}
		return out
	}
	cmd.Placements = slices.Clone(cmd.Placements)
	for i := range cmd.Placements {
		pl := &cmd.Placements[i]
		pl.Pods = pods(pl.Pods)
		if n, ok := p.Snapshot.NodeByName(pl.Node.Name); ok {
			pl.Node = n
		}
	}
	cmd.Replacements = slices.Clone(cmd.Replacements)
	for i := range cmd.Replacements {
		r := &cmd.Replacements[i]
		r.Pods = pods(r.Pods)
		r.Options = slices.Clone(r.Options) // shared with other nodes
		for k, t := range r.Options {
			if o := p.types[r.Pool.Name][t.Name]; o != nil {
				r.Options[k] = o
			}
		}
		for _, o := range r.Options[0].Offerings {
			if o.Compare(r.Offering) == 0 {
				r.Offering = o // with the reservation capacity before this decision
			}
		}
	}
	return cmd
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
