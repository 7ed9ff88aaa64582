package disrupt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// settle makes base: the cluster once everything that is under way is done, with nobody waiting.
//
// Pods that wait, and those of nodes that go, take the room they will get. What was not placed is left out, so that it bends
// no hypothesis. Nodes that are not up yet, and those that will go soon for another reason, take no pods: one move is
// enough for a pod. What a command that was taken back has left over is taken for up.
func (d *decider) settle() {
	var going []*model.Node
	var change model.Delta
	for _, n := range d.s.Nodes() {
		switch {
		case n.Deleting:
			going = append(going, n)
		case underWay(n):
			going = append(going, n)
			if n.Claim != nil {
				change.Claims = append(change.Claims, leaving(n.Claim, d.now))
			}
		}
	}
	s := d.s.Apply(change)
	var placements []model.Placement
	if len(s.Pending())+len(s.Displaced()) > 0 {
		placements = pack.Solve(s, d.o.Pack).Placements
	}
	d.expect(placements)
	d.promised()
	s = s.Without(going...).Apply(d.ghosts(going)).Bound(placements).Calm()
	d.base = s.Apply(d.closed(s, func(n *model.Node) bool {
		return !d.initialized(n) && !leftOver(s, n) || d.leavesSoon(n)
	}))
}

// expect notes the candidates that pods are on their way to, and those that keep room for a buffer. The latter are not
// empty, but may be replaced: the room moves along.
func (d *decider) expect(placements []model.Placement) {
	for _, pl := range placements {
		c := d.byName[pl.Node.Name]
		if c == nil {
			continue
		}
		for _, p := range pl.Pods {
			if p.Virtual() {
				c.buffer = p.Buffer
			} else {
				c.awaited = true
			}
		}
	}
}

// ghosts are the nodes that go, without pods: they count against limits until they are gone.
func (d *decider) ghosts(going []*model.Node) model.Delta {
	var change model.Delta
	for _, n := range going {
		if n.Object != nil {
			o := *n.Object
			o.DeletionTimestamp = &metav1.Time{Time: d.now}
			change.Nodes = append(change.Nodes, &o)
		}
		if n.Claim != nil {
			change.Claims = append(change.Claims, leaving(n.Claim, d.now))
		}
	}
	return change
}

// promised notes the candidates that pods were told before to go to, and will once others have left, and those that were
// launched in place of nodes that are still there. Pods that find room there now are among the placements; a promise to a node
// that can take the pod no more is stale, and keeps none.
func (d *decider) promised() {
	for _, p := range append(d.s.Pending(), d.s.Displaced()...) {
		n, ok := d.s.NodeByName(d.s.PromiseOf(p))
		if !ok || p.Virtual() || !makesRoom(n, p) {
			continue
		}
		if c := d.byName[n.Name]; c != nil {
			c.awaited = true
		}
	}
	for _, c := range d.ours {
		c.awaited = c.awaited || d.successor(c.node)
	}
}

// makesRoom reports whether pods are leaving n and the pod has room there without them, as after a preemption.
func makesRoom(n *model.Node, p *model.Pod) bool {
	free, leaves := n.Free(), false
	for _, other := range n.Pods {
		if other.Terminating() {
			free, leaves = free.Plus(other.Requests), true
		}
	}
	_, _, short := p.Requests.Short(free)
	return leaves && !short
}

// successor reports whether the node was launched in place of nodes that are still there: it is empty, but not for long.
func (d *decider) successor(n *model.Node) bool {
	return slices.ContainsFunc(replaces(n), func(name string) bool {
		_, ok := d.s.Claim(name)
		return ok
	})
}

// replaces returns the names of the claims that go, or have gone, when n is initialized.
func replaces(n *model.Node) []string {
	if n.Claim == nil {
		return nil
	}
	return names(n.Claim.Annotations[apiv1.ReplacesAnnotationKey])
}

// names splits a list by commas.
func names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// leavesSoon reports whether the node will be replaced for another reason than its price.
func (d *decider) leavesSoon(n *model.Node) bool {
	if n.Claim == nil {
		return false
	}
	if at, ok := ReplaceAt(n.Claim); ok && !d.now.Before(at) {
		return true
	}
	return condition.IsTrue(n.Claim, apiv1.ConditionTypeDrifted)
}

// closed returns the change by which the nodes that shut says take no more pods. A claim that has no node yet is shown as
// being deleted: so it still counts against limits, and takes none either.
func (d *decider) closed(s *model.Snapshot, shut func(*model.Node) bool) model.Delta {
	var change model.Delta
	for _, n := range s.Nodes() {
		switch {
		case n.Deleting || !shut(n):
		case n.Object != nil && !n.Object.Spec.Unschedulable:
			o := *n.Object
			o.Spec.Unschedulable = true
			change.Nodes = append(change.Nodes, &o)
		case n.Object == nil && n.Claim != nil:
			change.Claims = append(change.Claims, leaving(n.Claim, d.now))
		}
	}
	return change
}

func leaving(c *apiv1.NodeClaim, now time.Time) *apiv1.NodeClaim {
	o := *c
	o.DeletionTimestamp = &metav1.Time{Time: now}
	return &o
}

// commit adds the command, which takes the set, to the decision, and moves the worlds on as if it were done.
func (d *decider) commit(c model.Command, set []*candidate) {
	for _, x := range set {
		x.done = true
		c.Nodes = append(c.Nodes, x.node)
	}
	sortNodes(c.Nodes)
	d.expect(c.Placements)
	change := d.land(c.Replacements)
	d.base = d.after(d.base, &c, change)
	if d.view != nil {
		d.view = d.after(d.view, &c, change)
	}
	d.own(&c)
	if c.Reason == ReasonExpired || c.Reason == ReasonUnhealthy {
		d.force(set)
	}
	if d.telling {
		d.out.Proposed = append(d.out.Proposed, c)
	} else {
		d.out.Commands = append(d.out.Commands, c)
	}
}

// after returns the world without the command's nodes, and their pods where they go.
func (d *decider) after(w *model.Snapshot, c *model.Command, change model.Delta) *model.Snapshot {
	return w.Without(in(w, c.Nodes)...).Bound(c.Placements).Apply(change).Calm()
}

// in returns the nodes as they are in w; those that are not there are left out.
func in(w *model.Snapshot, nodes []*model.Node) []*model.Node {
	out := make([]*model.Node, 0, len(nodes))
	for _, n := range nodes {
		if o, ok := w.NodeByName(n.Name); ok {
			out = append(out, o)
		}
	}
	return out
}

// land returns the replacements as nodes that are up, with their pods, and closed to others: they have yet to come up.
func (d *decider) land(replacements []model.PlannedNode) model.Delta {
	var change model.Delta
	for i := range replacements {
		r := &replacements[i]
		d.landed++
		name := fmt.Sprintf("planned-%d", d.landed)
		t := r.Options[0]
		labels := maps.Clone(r.Pool.Labels)
		for _, reqs := range []map[string]string{t.Requirements.Labels(), r.Requirements.Labels(), r.Offering.Requirements.Labels()} {
			maps.Copy(labels, reqs)
		}
		labels[corev1.LabelHostname], labels[corev1.LabelInstanceTypeStable] = name, t.Name
		labels[corev1.LabelTopologyZone], labels[apiv1.CapacityTypeLabelKey] = r.Offering.Zone, r.Offering.CapacityType
		labels[apiv1.NodeRegisteredLabelKey], labels[apiv1.NodeInitializedLabelKey] = "true", "true"
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		node.Spec.ProviderID, node.Spec.Unschedulable, node.Spec.Taints = "planned:///"+name, true, r.Pool.Taints
		node.Status.Capacity, node.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
		// Some pods tolerate cordons, so that there must be no room for another pod either.
		node.Status.Allocatable[corev1.ResourcePods] = model.Quantity(corev1.ResourcePods, int64(len(r.Pods)))
		change.Nodes = append(change.Nodes, node)
		claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		claim.Status.ProviderID = node.Spec.ProviderID
		change.Claims = append(change.Claims, claim)
		for _, p := range r.Pods {
			o := *p.Object
			o.Spec.NodeName, o.Status.Phase = name, corev1.PodRunning
			change.Pods = append(change.Pods, &o)
		}
		d.draw(r.Offering)
	}
	change.Types = d.drawn
	return change
}

// draw takes one instance out of the reservation that the offering draws from: it is there once.
func (d *decider) draw(o model.Offering) {
	if o.ReservationID == "" {
		return
	}
	if d.drawn == nil {
		d.drawn = map[string][]*model.InstanceType{}
	}
	for _, p := range d.s.Pools() {
		list := d.drawn[p.Name]
		if list == nil {
			list = slices.Clone(d.s.Types(p.Name))
		}
		for i, t := range list {
			list[i] = without(t, o.ReservationID)
		}
		d.drawn[p.Name] = list
	}
}

// without returns t with one instance less in the reservation.
func without(t *model.InstanceType, reservation string) *model.InstanceType {
	if !slices.ContainsFunc(t.Offerings, func(o model.Offering) bool { return o.ReservationID == reservation }) {
		return t
	}
	c := *t
	c.Offerings = slices.Clone(t.Offerings)
	for i := range c.Offerings {
		o := &c.Offerings[i]
		if o.ReservationID == reservation {
			o.ReservationCapacity--
			o.Available = o.Available && o.ReservationCapacity > 0
		}
	}
	return &c
}

// own puts the pods and nodes of the snapshot in the place of those of the hypothesis.
func (d *decider) own(c *model.Command) {
	ours := func(pods []*model.Pod) []*model.Pod {
		out := make([]*model.Pod, len(pods))
		for i, p := range pods {
			out[i] = p
			if o, ok := d.s.Pod(p.Key); ok {
				out[i] = o
			}
		}
		return out
	}
	placements := make([]model.Placement, len(c.Placements))
	for i, pl := range c.Placements {
		placements[i] = model.Placement{Node: pl.Node, Pods: ours(pl.Pods)}
		if n, ok := d.s.NodeByName(pl.Node.Name); ok {
			placements[i].Node = n
		}
	}
	c.Placements = placements
	for i := range c.Replacements {
		r := &c.Replacements[i]
		r.Pods = ours(r.Pods)
		r.Options = slices.Clone(r.Options) // other nodes share it
		for k, t := range r.Options {
			if o := d.types[r.Pool.Name][t.Name]; o != nil {
				r.Options[k] = o
			}
		}
		for _, o := range r.Options[0].Offerings {
			if o.Compare(r.Offering) == 0 {
				r.Offering = o // with what the reservation held before
			}
		}
	}
}

// force counts nodes that go though nobody was asked: what is left of budgets, and of the disruption budgets of pods, is less
// for those that are asked.
func (d *decider) force(set []*candidate) {
	for _, c := range set {
		d.budgets.force(c.node, d.o.Rehearse)
		d.guards.take(c.holds)
	}
}

// heldBack reports whether the mode of its pool keeps the node from going for the reason: commands that take it are told. What
// is no choice needs no approval.
func (d *decider) heldBack(c *candidate, reason apiv1.DisruptionReason) bool {
	if c.pool == nil {
		return false
	}
	switch ModeOf(c.pool, d.o.Mode) {
	case apiv1.ModeDryRun:
		return true
	case apiv1.ModeApprove:
		forced := reason == ReasonExpired || reason == ReasonUnhealthy
		return !forced && (c.node.Object == nil || c.node.Object.Annotations[apiv1.ApprovedAnnotationKey] != "true")
	}
	return false
}
