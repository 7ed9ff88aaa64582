package disrupt

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// drift replaces nodes that are no longer what their pool asks for: those without pods first, then those that drifted
// first. Money is not asked: a drifted node is replaced whatever its successor costs.
func (d *decider) drift() {
	var found []*candidate
	for _, c := range d.open(apiv1.DisruptionReasonDrifted) {
		if c.node.Claim == nil || !condition.IsTrue(c.node.Claim, apiv1.ConditionTypeDrifted) {
			continue
		}
		if v := d.driftedMayGo(c); !v.OK() {
			d.insist(c, v)
			continue
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare(min(len(a.pods), 1), min(len(b.pods), 1)),
			driftedAt(a).Compare(driftedAt(b).Time),
			strings.Compare(a.node.Name, b.node.Name),
		)
	})
	d.eligible(apiv1.DisruptionReasonDrifted, len(found))
	for _, c := range found {
		d.driftOne(c)
	}
}

func (d *decider) driftOne(c *candidate) {
	// What was free when the candidates were listed may have been taken by those before.
	set := []*candidate{c}
	if v := d.affords(set, apiv1.DisruptionReasonDrifted); !v.OK() {
		d.insist(c, v)
		return
	}
	if c.pool.Static() {
		d.driftStatic(c)
		return
	}
	p := d.whatIf(d.base, set)
	if v := p.placed(); !v.OK() {
		d.insist(c, v)
		return
	}
	if v := d.take(set, apiv1.DisruptionReasonDrifted); !v.OK() {
		d.insist(c, v)
		return
	}
	d.commit(p.command(apiv1.DisruptionReasonDrifted, "drift"), set)
}

// driftStatic replaces a node of a static pool by one more of the same template.
func (d *decider) driftStatic(c *candidate) {
	if !d.o.Static {
		d.insist(c, model.Verdict{Rule: model.RulePolicy, Subject: "its NodePool is static, and static capacity is switched off"})
		return
	}
	if d.members(c.pool).active > int(*c.pool.Object.Spec.Replicas) {
		d.insist(c, model.Verdict{Rule: model.RulePolicy, Subject: "its NodePool has more nodes than replicas; those go first"})
		return
	}
	n, v := d.anotherFromTemplate(c.pool)
	if !v.OK() {
		d.insist(c, v)
		return
	}
	if v := d.take([]*candidate{c}, apiv1.DisruptionReasonDrifted); !v.OK() {
		d.insist(c, v)
		return
	}
	d.commit(model.Command{
		Reason: apiv1.DisruptionReasonDrifted, Method: "static", Replacements: []model.PlannedNode{n},
		Saves: c.price - n.Price(),
	}, []*candidate{c})
}

// driftedMayGo is a yes if nothing but budgets keeps a drifted node. Drift does not wait for consolidateAfter.
func (d *decider) driftedMayGo(c *candidate) model.Verdict {
	if v := d.barred(c); !v.OK() {
		return v
	}
	if v := d.holdsPods(c, true); !v.OK() {
		return v
	}
	return d.awaited(c)
}

func driftedAt(c *candidate) (at metav1.Time) {
	if x := condition.Get(c.node.Claim, apiv1.ConditionTypeDrifted); x != nil {
		return x.LastTransitionTime
	}
	return at
}
