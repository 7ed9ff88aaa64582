package disrupt

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// empty lets the nodes go that run nothing which would come back elsewhere, dearest first.
func (d *decider) empty() {
	var found []*candidate
	for _, c := range d.open(apiv1.DisruptionReasonEmpty) {
		if len(c.pods) > 0 {
			continue
		}
		if v := d.emptyMayGo(c); !v.OK() {
			d.note(c, v)
			continue
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.price, a.price), strings.Compare(a.node.Name, b.node.Name))
	})
	d.eligible(apiv1.DisruptionReasonEmpty, len(found))
	for _, c := range found {
		if v := d.take([]*candidate{c}, apiv1.DisruptionReasonEmpty); !v.OK() {
			d.note(c, v)
			continue
		}
		d.commit(model.Command{
			Reason: apiv1.DisruptionReasonEmpty, Method: "empty", Saves: c.price,
		}, []*candidate{c})
	}
}

// emptyMayGo is a yes if nothing but budgets keeps an empty node.
func (d *decider) emptyMayGo(c *candidate) model.Verdict {
	if v := d.barred(c); !v.OK() {
		return v
	}
	if v := d.rested(c); !v.OK() {
		return v
	}
	if v := d.holdsPods(c, false); !v.OK() {
		return v
	}
	if c.buffer != "" {
		return model.Verdict{Rule: model.RuleBuffer, Subject: c.buffer}
	}
	return d.awaited(c)
}

// rested is a yes if the pool's own settings let the node go for reasons of price.
func (d *decider) rested(c *candidate) model.Verdict {
	switch {
	case c.pool.Static():
		return model.Verdict{Rule: model.RulePolicy, Subject: "its NodePool keeps a fixed number of nodes"}
	case c.pool.Object.Spec.Disruption.ConsolidateAfter.Duration == nil:
		return model.Verdict{Rule: model.RulePolicy, Subject: "consolidateAfter of its NodePool is Never"}
	case !d.consolidatable(c):
		return model.Verdict{Rule: model.RuleRecent}
	}
	return model.Verdict{}
}

// stillEmpty returns a verdict for each node that was marked to go as empty, by name. It is a yes if the node may go now that
// no new pods come: nothing has been put on it in between, and nobody is on the way to it.
func stillEmpty(s *model.Snapshot, nodes []*model.Node, o Options) map[string]model.Verdict {
	out := map[string]model.Verdict{}
	coming := comingTo(s, nodes, o)
	for _, n := range nodes {
		v := StillUnprotected(s, n)
		if pods := n.Reschedulable(); v.OK() && len(pods) > 0 {
			v = model.Verdict{Rule: model.RuleInUse, Subject: "pod " + pods[0].Key}
		}
		if v.OK() && coming[n] {
			v = model.Verdict{Rule: model.RuleNominated}
		}
		out[n.Name] = v
	}
	return out
}

// comingTo returns which of the marked nodes pods were told to go to, and could if the marks were taken back.
func comingTo(s *model.Snapshot, nodes []*model.Node, o Options) map[*model.Node]bool {
	marked := map[string]*model.Node{}
	for _, n := range nodes {
		marked[n.Name] = n
	}
	told, out := map[*model.Pod]*model.Node{}, map[*model.Node]bool{}
	for _, p := range append(s.Pending(), s.Displaced()...) {
		n, _ := s.NodeByName(s.PromiseOf(p))
		if n == nil || marked[n.Name] == nil || p.Virtual() {
			continue
		}
		told[p] = marked[n.Name]
		out[told[p]] = out[told[p]] || makesRoom(n, p)
	}
	if len(told) == 0 {
		return out
	}
	for _, pl := range pack.Solve(s.Apply(unmarked(nodes)), o.Pack).Placements {
		for _, p := range pl.Pods {
			if n := told[p]; n != nil && n.Name == pl.Node.Name {
				out[n] = true
			}
		}
	}
	return out
}

// unmarked is the change that lets pods come to the marked nodes again.
func unmarked(nodes []*model.Node) model.Delta {
	var change model.Delta
	for _, n := range nodes {
		o := *n.Object
		o.Spec.Taints = slices.DeleteFunc(slices.Clone(o.Spec.Taints), func(t corev1.Taint) bool {
			return t.Key == apiv1.DisruptedTaintKey
		})
		change.Nodes = append(change.Nodes, &o)
	}
	return change
}

// StillUnprotected is a yes if neither the node nor a pod on it asks not to be disrupted.
func StillUnprotected(s *model.Snapshot, n *model.Node) model.Verdict {
	if n.Object != nil && n.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true" {
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "the node"}
	}
	for _, p := range n.Pods {
		if active, _, _ := drain.DoNotDisrupt(p.Object, s.Now); active && !p.Terminating() {
			return model.Verdict{Rule: model.RuleAnnotation, Subject: "pod " + p.Key}
		}
	}
	return model.Verdict{}
}
