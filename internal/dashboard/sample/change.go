package sample

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

// Step makes n changes. Of two hundred changes, on average one launches a node, one removes a node, and one adds a
// pending pod. The others bind or remove a pod.
func (f *Fleet) Step(n int) {
	for range n {
		switch f.random.IntN(200) {
		case 0:
			f.scaleUp()
		case 1:
			f.scaleIn()
		case 2:
			f.addPending()
		default:
			if f.random.IntN(2) == 0 || !f.bindPod() {
				f.endPod()
			}
		}
	}
}

// endPod removes a random pod of a random node. It does nothing if that node has only pods of DaemonSets.
func (f *Fleet) endPod() {
	m := f.machines[f.random.IntN(len(f.machines))]
	if len(m.pods) <= 2 {
		return
	}
	i := 2 + f.random.IntN(len(m.pods)-2)
	pod := m.pods[i]
	m.pods = slices.Delete(m.pods, i, i+1)
	m.free = m.free.Plus(model.RequestsOf(pod.Spec.Containers[0].Resources.Requests))
	f.cluster.Remove(pod)
}

// scaleUp launches a node, initializes the first one that has joined before and is not initialized, and removes the oldest
// pending pod if there are more than three.
func (f *Fleet) scaleUp() {
	for _, m := range f.machines {
		if m.node != nil && m.node.Labels[apiv1.NodeInitializedLabelKey] == "" {
			ready := m.node.DeepCopy()
			ready.Labels[apiv1.NodeInitializedLabelKey] = "true"
			m.node = ready
			f.cluster.Set(ready)
			f.log.Note(m.claim.Name, decisions.EffectInitialized, decisions.ClaimObject(m.claim.Name), "")
			break
		}
	}
	m := f.addMachine(1, 0)
	f.log.Begin(decisions.Episode{
		Kind: decisions.KindProvisioning, Reason: "Pending", Action: "launch", Cause: "3 pending pods of shop/web", Decision: "launch 1 node (1 x " + m.claim.Labels[corev1.LabelInstanceTypeStable] + ")",
		Pools: []string{m.claim.Labels[apiv1.NodePoolLabelKey]}, Pods: 3,
		Launches: []decisions.Launch{{
			Claim: m.claim.Name, Pool: m.claim.Labels[apiv1.NodePoolLabelKey], InstanceType: m.claim.Labels[corev1.LabelInstanceTypeStable],
			Zone: m.claim.Labels[corev1.LabelTopologyZone], CapacityType: m.claim.Labels[apiv1.CapacityTypeLabelKey], DollarsPerHour: 0.2, Options: 4, Pods: 3,
		}},
	})
	if len(f.waiting) > 3 {
		f.cluster.Remove(f.waiting[0])
		f.waiting = f.waiting[1:]
	}
}

// scaleIn removes a random node and its pods.
func (f *Fleet) scaleIn() {
	i := f.random.IntN(len(f.machines))
	m := f.machines[i]
	f.machines = slices.Delete(f.machines, i, i+1)
	for _, pod := range m.pods {
		f.cluster.Remove(pod)
	}
	if m.node != nil {
		f.cluster.Remove(m.node)
	}
	f.cluster.Remove(m.claim)
	of := m.claim.Labels
	f.log.Begin(decisions.Episode{
		Kind: decisions.KindDisruption, Reason: "Underutilized", Action: "delete", Cause: "the pods of 1 node fit on others",
		Decision: "delete " + m.claim.Name, Pools: []string{of[apiv1.NodePoolLabelKey]}, Pods: len(m.pods), EvictionsPlanned: len(m.pods),
		Removals: []decisions.Removal{{
			Node: m.claim.Name, Claim: m.claim.Name, Pool: of[apiv1.NodePoolLabelKey], InstanceType: of[corev1.LabelInstanceTypeStable],
			Zone: of[corev1.LabelTopologyZone], CapacityType: of[apiv1.CapacityTypeLabelKey], DollarsPerHour: 0.2, Pods: len(m.pods),
		}},
		DollarsBefore: 10, DollarsAfter: 9.8,
	})
	f.log.Note(m.claim.Name, decisions.EffectTerminated, decisions.ClaimObject(m.claim.Name), "")
}

// mostDecided is the number of nodes up to which disruption is decided. What-if decides up to this number too.
const mostDecided = 2000

// Decide decides about the nodes and the pending pods with the engine, and charges the costs. In larger fleets it draws why
// nodes are kept, and plans for the pending pods as if there were no nodes.
func (f *Fleet) Decide() {
	s := f.withTypes(f.cluster.Snapshot())
	o := pack.Options{Labels: apiv1.CoreLabels()}
	if len(s.Nodes()) <= mostDecided {
		d := disrupt.Decide(s, disrupt.Options{Pack: o, MaxWhatIfs: tries}, disrupt.Cursor{})
		f.latest.Disruption(decisions.Outcome{Blocked: d.Blocked, Commands: d.Commands, Proposed: d.Proposed, Headroom: d.Stats.Headroom})
		f.costs.Observe(s, ledger.Decision{Blocked: d.Blocked, Commands: d.Commands, Headroom: d.Stats.Headroom})
		f.latest.Plan(pack.Solve(s, o).Refusals)
		return
	}
	blocked := drawn(s)
	f.latest.Disruption(decisions.Outcome{Blocked: blocked})
	f.costs.Observe(s, ledger.Decision{Blocked: blocked})
	d := model.Delta{Types: map[string][]*model.InstanceType{}}
	for _, p := range s.Pools() {
		d.Pools = append(d.Pools, p.Object)
		d.Types[p.Name] = f.types
	}
	for _, p := range s.Pending() {
		d.Pods = append(d.Pods, p.Object)
	}
	f.latest.Plan(pack.Solve(model.Compile(d).At(s.Now), o).Refusals)
}

// tries bounds the alternatives that consolidation packs, as in what-if.
const tries = 1000

// drawn returns a reason for each node of a NodePool that is neither deleted nor disrupted, without a decision of the
// engine.
func drawn(s *model.Snapshot) []model.Blocked {
	verdicts := []model.Verdict{
		{Rule: model.RulePrice, Subject: "no cheaper instance type holds the pods of the node"},
		{Rule: model.RuleRecent, By: 30e9}, {Rule: model.RuleBudget, Key: pools[0], Subject: "10%"},
		{Rule: model.RuleNoPlace, Subject: "its pods fit on no other node"},
	}
	var blocked []model.Blocked
	for i, n := range s.Nodes() {
		if n.Pool == "" || n.Deleting || n.Disrupted() {
			continue
		}
		v := verdicts[i%len(verdicts)]
		if !n.Initialized {
			v = model.Verdict{Rule: model.RuleNotReady}
		} else if i%11 == 3 && len(n.Pods) > 3 {
			v = model.Verdict{Rule: model.RulePDB, Subject: "PodDisruptionBudget shop/web allows no further disruption (pod " + n.Pods[len(n.Pods)-1].Key + ")"}
		}
		blocked = append(blocked, model.Blocked{Node: n, Verdict: v, Waste: s.PriceOf(n) * float64(i%5) / 20})
	}
	return blocked
}
