package problem

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// MayDisrupt returns a refusal if the node must not be disrupted voluntarily. It does not check the pods.
func (p *Problem) MayDisrupt(c *Candidate) model.Verdict {
	n := c.Node
	if v := p.MayBegin(n); !v.OK() {
		return v
	}
	switch {
	case c.Pool == nil:
		return policyVerdict(model.CauseNoNodePool, n.Pool)
	case p.Options.Paused:
		return policyVerdict(model.CausePaused, "")
	case c.Pool.Object.Annotations[apiv1.DisruptionPausedAnnotationKey] == "true":
		return policyVerdict(model.CausePoolPaused, n.Pool)
	case n.Object != nil && n.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true":
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "node " + n.Name}
	}
	return p.postponed(n)
}

// postponed returns a refusal if traffic is shifted away from the zone of the node, or if a disruption of it was rolled back
// recently.
func (p *Problem) postponed(n *model.Node) model.Verdict {
	if v := p.MayTerminateInZone(n); !v.OK() {
		return v
	}
	until, ok := p.Options.Backoff[n.Name]
	if !ok {
		return model.Verdict{}
	}
	v := policyVerdict(model.CauseBackoff, n.Pool)
	v.Subject = until.UTC().Format(time.RFC3339)
	return v
}

// MayTerminateInZone returns a refusal if traffic is shifted away from the zone of the node. Instances there are not
// terminated, so the NodeClaim would only be deleted when the shift is over.
func (p *Problem) MayTerminateInZone(n *model.Node) model.Verdict {
	zone := n.Labels[corev1.LabelTopologyZone]
	if !slices.Contains(p.Options.ShiftedZones, zone) {
		return model.Verdict{}
	}
	v := policyVerdict(model.CauseZoneShifted, n.Pool)
	v.Subject = zone
	return v
}

// MayRepair returns a refusal if an unhealthy node must not be repaired. It does not check the pods. A registered node
// may be repaired before it is initialized, and even if it has do-not-disrupt. It must not be in a zone from which
// traffic is shifted away. Instances there are neither terminated nor rebooted, so the repair would use up budgets
// until the shift is over.
func (p *Problem) MayRepair(c *Candidate) model.Verdict {
	n := c.Node
	switch {
	case c.Pool == nil:
		return policyVerdict(model.CauseNoNodePool, n.Pool)
	case n.Object.Annotations[apiv1.DoNotRepairAnnotationKey] == "true":
		return model.Verdict{Rule: model.RuleUnhealthy, Cause: model.CauseDoNotRepair,
			Subject: "node is unhealthy, and has annotation " + apiv1.DoNotRepairAnnotationKey}
	}
	return p.postponed(n)
}

// MayConsolidate returns a refusal if MayDisrupt does, or if the settings of the NodePool do not allow consolidation of
// the node.
func (p *Problem) MayConsolidate(c *Candidate) model.Verdict {
	v := p.MayDisrupt(c)
	switch {
	case !v.OK():
		return v
	case c.Pool.Static():
		return policyVerdict(model.CauseStatic, c.Pool.Name)
	case c.Pool.Object.Spec.Disruption.ConsolidateAfter.Duration == nil:
		return policyVerdict(model.CauseNever, c.Pool.Name)
	case !p.Consolidatable(c):
		return model.Verdict{Rule: model.RuleRecent, By: int64(*c.Pool.Object.Spec.Disruption.ConsolidateAfter.Duration)}
	}
	return v
}

// MayDrain returns no refusal if the termination of the node has a deadline, because its pods are then deleted in any case.
// Otherwise it is MayEvictPods.
func (p *Problem) MayDrain(c *Candidate) model.Verdict {
	if hasDeadline(c) {
		return model.Verdict{}
	}
	return p.MayEvictPods(c)
}

// MayEvictPods returns a refusal if a pod of the node has do-not-disrupt or can never be evicted, or if its PodDisruptionBudget was
// exhausted before this decision.
func (p *Problem) MayEvictPods(c *Candidate) model.Verdict {
	if pod := status.ProtectedPod(c.Node, p.Snapshot.Now); pod != nil {
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "pod " + pod.Key}
	}
	if !c.Unevictable.OK() {
		return c.Unevictable
	}
	return p.pdbs.Allow(nil, c.Evictions)
}

// MayRemoveEmpty returns the reason, other than budgets, why an empty node must stay.
func (st *State) MayRemoveEmpty(c *Candidate) model.Verdict {
	v := cmp.Or(st.Problem.MayConsolidate(c), st.Problem.MayEvictPods(c))
	if buffer := st.nodes[c.index].buffer; v.OK() && buffer != "" {
		return model.Verdict{Rule: model.RuleBuffer, Subject: buffer}
	}
	return cmp.Or(v, st.Incoming(c))
}

// Allow returns a refusal if the set must not be removed in addition to the accepted commands. It checks Options.MaxNodes,
// the budgets of the NodePools, and the PodDisruptionBudgets of the pods. If the reason is Drifted, it does not check the
// PodDisruptionBudgets of the pods on nodes with a termination deadline. If it is Unhealthy, it checks the budgets of the
// NodePools alone, and nothing for a node that is not initialized.
func (st *State) Allow(set []*Candidate, reason apiv1.DisruptionReason) model.Verdict {
	if reason == apiv1.DisruptionReasonUnhealthy {
		initialized := slices.DeleteFunc(slices.Clone(set), func(c *Candidate) bool { return !st.Problem.Initialized(c.Node) })
		return st.Budgets.Allow(poolsOf(initialized), reason)
	}
	if most := st.Problem.Options.MaxNodes; most != 0 && st.voluntary+len(set) > most {
		return model.Verdict{Rule: model.RulePolicy, Cause: model.CauseRateLimit, By: int64(max(0, most-st.voluntary))}
	}
	if v := st.Budgets.Allow(poolsOf(set), reason); !v.OK() {
		return v
	}
	evictions := make([][]budget.Eviction, 0, len(set))
	for _, c := range set {
		if reason != apiv1.DisruptionReasonDrifted || !hasDeadline(c) {
			evictions = append(evictions, c.Evictions)
		}
	}
	return st.Problem.pdbs.Allow(st.evicted, evictions...)
}

// MayEvictAtOnce returns a refusal if PodDisruptionBudgets do not allow all pods of the candidate to be evicted at the
// same time, in addition to the accepted commands. The evicted pods have no other place until the node is gone. If they
// were evicted one after another, the first could block the eviction of the others forever. If the termination of the
// node has a deadline, MayEvictAtOnce checks nothing.
func (st *State) MayEvictAtOnce(c *Candidate) model.Verdict {
	if hasDeadline(c) {
		return model.Verdict{}
	}
	return st.Problem.pdbs.AllowAtOnce(st.evicted, c.Evictions)
}

// hasDeadline reports whether the node has a termination deadline, after which no pod can delay its removal.
func hasDeadline(c *Candidate) bool {
	return c.Node.Claim != nil && c.Node.Claim.Spec.TerminationGracePeriod != nil
}

func poolsOf(set []*Candidate) []string {
	pools := make([]string, len(set))
	for i, c := range set {
		pools[i] = c.Node.Pool
	}
	return pools
}

func policyVerdict(cause model.Cause, pool string) model.Verdict {
	return model.Verdict{Rule: model.RulePolicy, Cause: cause, Key: pool}
}

// MayBegin returns a refusal if the node is being deleted, marked for disruption or being rebooted, or if it is not initialized.
func (p *Problem) MayBegin(n *model.Node) model.Verdict {
	switch {
	case n.Deleting || status.Disrupting(n):
		return model.Verdict{Rule: model.RuleDisrupted}
	case n.Rebooting():
		return model.Verdict{Rule: model.RuleDisrupted, Cause: model.CauseRebooting}
	case !p.Initialized(n):
		return model.Verdict{Rule: model.RuleNotReady}
	}
	return model.Verdict{}
}

// Initialized reports whether the node is initialized. With Options.Simulate, each node that has joined counts.
func (p *Problem) Initialized(n *model.Node) bool {
	return n.Initialized || p.Options.Simulate && n.Object != nil
}

// Consolidatable reports whether consolidateAfter has passed since the last pod event of the node. With Options.Simulate it
// is always true.
func (p *Problem) Consolidatable(c *Candidate) bool {
	return p.Options.Simulate || status.Consolidatable(p.Snapshot, c.Node)
}
