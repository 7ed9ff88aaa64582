package model

import corev1 "k8s.io/api/core/v1"

// Without returns s as it would be with the nodes gone: their claims are gone too, the pods that come back elsewhere wait
// for a node, and their other pods are gone with them.
//
// Those pods are the only ones that wait in the result: whoever asks what it takes to do without a node must not have the
// answer bent by pods that wait anyway.
func (s *Snapshot) Without(nodes ...*Node) *Snapshot {
	e := newEdit(s)
	e.pending = table[*Pod]{}.edit()
	for _, n := range nodes {
		for _, p := range n.Pods {
			if !p.Reschedulable() {
				e.removePod(p.Key)
				continue
			}
			back := p.Unbound()
			e.setPod(back, back.Provisionable())
		}
		if n.Object != nil {
			e.removeNode(n.Object.Name)
		}
		if n.Claim != nil {
			e.removeClaim(n.Claim.Name)
		}
	}
	return e.finish(s)
}

// Calm returns s as if no pod waited.
func (s *Snapshot) Calm() *Snapshot {
	t := *s
	t.derived.pending = table[*Pod]{}
	return &t
}

// Bound returns s with the pods bound where they are placed. Placements on what has not joined yet, and so has no name to
// bind to, are left out.
func (s *Snapshot) Bound(placements []Placement) *Snapshot {
	e := newEdit(s)
	for _, pl := range placements {
		if pl.Node.Object == nil {
			continue
		}
		for _, p := range pl.Pods {
			e.setPod(p.boundTo(pl.Node.Object.Name), false)
		}
	}
	return e.finish(s)
}

// Unbound returns p as it will come back when its node is gone: looked at by the scheduler, which found no other.
func (p *Pod) Unbound() *Pod {
	o := *p.Object
	o.Spec.NodeName = ""
	o.DeletionTimestamp = nil
	o.Status.Phase = corev1.PodPending
	o.Status.NominatedNodeName = ""
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return &Pod{Key: p.Key, UID: p.UID, Object: &o, Requests: p.Requests, Buffer: p.Buffer}
}

// boundTo returns p as it will be on the node.
func (p *Pod) boundTo(node string) *Pod {
	o := *p.Object
	o.Spec.NodeName = node
	o.Status.Phase = corev1.PodRunning
	o.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
	}
	return &Pod{Key: p.Key, UID: p.UID, Object: &o, Requests: p.Requests, Buffer: p.Buffer}
}
