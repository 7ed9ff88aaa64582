package disrupt

import (
	"cmp"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
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

// StillEmpty is a yes if a node that was marked to go as empty may go now that no new pods come: nothing has been put on
// it in between.
func StillEmpty(s *model.Snapshot, n *model.Node) model.Verdict {
	if v := StillUnprotected(s, n); !v.OK() {
		return v
	}
	if pods := n.Reschedulable(); len(pods) > 0 {
		return model.Verdict{Rule: model.RuleInUse, Subject: "pod " + pods[0].Key}
	}
	for _, p := range append(s.Pending(), s.Displaced()...) {
		if to := s.PromiseOf(p); to != "" && (to == n.Name || n.Claim != nil && to == n.Claim.Name) {
			return model.Verdict{Rule: model.RuleNominated}
		}
	}
	return model.Verdict{}
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
