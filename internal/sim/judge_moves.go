package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// moveRules are about nodes that the operator disrupts, and about limits of pools.
type moveRules struct {
	*judge
	// marked are the nodes that a replica has marked for disruption before their claims were deleted, with the reason.
	marked map[string]string
	// disruptions counts nodes that were marked.
	disruptions int
	// late counts the nodes that were marked for consolidation since recovery/2 after the last event, which was at lateSince. lateOf is how
	// many nodes there were when the first of them was marked.
	late, lateOf int
	lateSince    time.Time
	// replaced counts claims that were deleted by a replica when a claim in their place was recorded.
	replaced int
	// moves are the costs of consolidations, by the value of the annotation that names their replacements.
	moves map[string]*costs
	// overlaid is when a NodeOverlay was last created, changed or deleted.
	overlaid time.Time
	// gone has the pools and times of the claims that were removed within the time lookEvery.
	gone []goneClaim
	// matching has the claims that were drifted and match their pool and node class again, with the time since which they do.
	matching map[string]time.Time
}

// costs are the prices of the nodes of one consolidation when they were marked, by claim name.
type costs struct {
	at     time.Time
	prices map[string]float64
}

// A goneClaim is the NodePool of a claim and the time when the claim was removed.
type goneClaim struct {
	pool string
	at   time.Time
}

// written checks nodes that are marked and claims that are launched.
func (m *moveRules) written(before, after client.Object) {
	switch o := after.(type) {
	case *corev1.Node:
		m.nodeWritten(before, o)
	case *apiv1.NodeClaim:
		m.claimWritten(before, o)
		m.noteDrift(before, o)
	case *overlayv1alpha1.NodeOverlay:
		if was, ok := before.(*overlayv1alpha1.NodeOverlay); !ok || was.Generation != o.Generation {
			m.overlaid = time.Now()
		}
	case nil:
		switch o := before.(type) {
		case *overlayv1alpha1.NodeOverlay:
			m.overlaid = time.Now()
		case *corev1.Node:
			delete(m.marked, o.Name)
		case *apiv1.NodeClaim:
			delete(m.matching, o.Name)
			m.gone = slices.DeleteFunc(m.gone, func(g goneClaim) bool { return time.Since(g.at) > lookEvery })
			m.gone = append(m.gone, goneClaim{o.Labels[apiv1.NodePoolLabelKey], time.Now()})
		}
	}
}

// noteDrift notes when a claim is no longer drifted.
func (m *moveRules) noteDrift(before client.Object, c *apiv1.NodeClaim) {
	was, _ := before.(*apiv1.NodeClaim)
	switch {
	case condition.IsTrue(c, apiv1.ConditionTypeDrifted):
		delete(m.matching, c.Name)
	case was != nil && condition.IsTrue(was, apiv1.ConditionTypeDrifted):
		m.matching[c.Name] = time.Now()
	}
}

// nodeWritten checks the budgets when a node is marked for disruption.
func (m *moveRules) nodeWritten(before client.Object, n *corev1.Node) {
	was, _ := before.(*corev1.Node)
	if !hasTaint(n, apiv1.DisruptedTaintKey) {
		delete(m.marked, n.Name)
		return
	}
	if was != nil && hasTaint(was, apiv1.DisruptedTaintKey) || m.writer() == "" {
		return
	}
	c := m.world.platform.claimOf(n.Name)
	if c == nil || c.DeletionTimestamp != nil {
		return // the disruption is not voluntary, or was decided before the claim was deleted
	}
	reason := reasonFor(c)
	m.marked[n.Name] = reason
	m.disruptions++
	if !voluntary[reason] {
		return
	}
	if reason != "Unhealthy" && !condition.IsTrue(c, apiv1.ConditionTypeInitialized) {
		m.violate(ruleInitialized, "node %s is disrupted (%s), and is not initialized", n.Name, reason)
	}
	if pool, ok := kubeapi.Find[*apiv1.NodePool](m.world.platform.server, "", c.Labels[apiv1.NodePoolLabelKey]); ok {
		m.checkPolicy(pool, n, reason)
		m.checkBudget(pool, n, reason)
	}
	m.protection.marked(n, c, reason)
	if reason == "Underutilized" {
		m.noteCost(n, c)
	}
	if reason == "Underutilized" || reason == "Empty" {
		m.noteLate(n.Name)
	}
}

// noteLate checks that consolidation comes to an end if nothing else happens.
func (m *moveRules) noteLate(node string) {
	if m.undisturbed() < recovery/2 {
		return
	}
	if last := later(m.world.faults.disturbed, m.world.processes.started); !last.Equal(m.lateSince) {
		m.late, m.lateSince = 0, last
	}
	if m.late == 0 {
		m.lateOf = len(m.world.platform.nodes())
	}
	if m.late++; m.late > 2*m.lateOf+5 {
		m.violate(ruleConverges, "node %s is the %dth that is consolidated without any event, and there were %d nodes", node, m.late, m.lateOf)
	}
}

// reasonFor returns the reason for which a claim is disrupted, empty if it is not.
func reasonFor(c *apiv1.NodeClaim) string {
	for _, cond := range c.Status.Conditions {
		if cond.Type == apiv1.ConditionTypeDisruptionReason && cond.Status == "True" {
			return cond.Reason
		}
	}
	return ""
}

// voluntary are the reasons that budgets bound.
var voluntary = map[string]bool{"Underutilized": true, "Empty": true, "Drifted": true, "Unhealthy": true}

func hasTaint(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// noteCost records the price of a node when it is marked for consolidation.
func (m *moveRules) noteCost(n *corev1.Node, c *apiv1.NodeClaim) {
	key := c.Annotations[apiv1.ReplacedByAnnotationKey]
	if key == "" {
		return
	}
	move := m.moves[key]
	if move == nil {
		move = &costs{at: time.Now(), prices: map[string]float64{}}
		m.moves[key] = move
	}
	for _, i := range m.world.account.instances() {
		if i.Node == n.Name {
			move.prices[c.Name] = m.priceOf(i)
		}
	}
}

// priceOf returns the price of an instance as the operator sees it: a reserved instance costs nearly nothing, and NodeOverlays change
// prices of families of instance types.
func (m *moveRules) priceOf(i control.Instance) float64 {
	if i.Capacity == apiv1.CapacityTypeReserved {
		return 1e-6
	}
	price := m.world.account.emulator.PriceOf(control.Pool{Type: i.Type, Zone: i.Zone, Capacity: i.Capacity})
	for _, o := range kubeapi.List[*overlayv1alpha1.NodeOverlay](m.world.platform.server) {
		family, _, _ := strings.Cut(i.Type, ".")
		percent, ok := strings.CutSuffix(ptr.Deref(o.Spec.PriceAdjustment, ""), "%")
		by, err := strconv.ParseFloat(percent, 64)
		if ok && err == nil && slices.ContainsFunc(o.Spec.Requirements, func(r overlayv1alpha1.NodeSelectorRequirement) bool {
			return r.Key == awsv1.LabelInstanceFamily && slices.Contains(r.Values, family)
		}) {
			price *= 1 + by/100
		}
	}
	return price
}

// stale is how old the prices may be by which the operator decides.
const stale = 70 * time.Minute

// finished checks that a consolidation made the fleet cheaper, when the first of its nodes is deleted.
func (m *moveRules) finished(c *apiv1.NodeClaim) {
	key := c.Annotations[apiv1.ReplacedByAnnotationKey]
	move := m.moves[key]
	if move == nil || move.prices[c.Name] == 0 {
		return
	}
	delete(m.moves, key)
	if last := m.world.account.priced; !last.IsZero() && move.at.Sub(last) < stale {
		return // the operator may not know the prices yet
	}
	if move.at.Sub(later(m.overlaid, m.world.account.cancelled)) < listed {
		return // prices changed since, or just before
	}
	byName := map[string]control.Instance{}
	for _, o := range kubeapi.List[*apiv1.NodeClaim](m.world.platform.server) {
		byName[o.Name] = m.world.account.instances()[idOf(o)]
	}
	before, after := 0.0, 0.0
	for _, price := range move.prices {
		before += price
	}
	for _, name := range strings.Split(key, ",") {
		r, ok := kubeapi.Find[*apiv1.NodeClaim](m.world.platform.server, "", name)
		if !ok || byName[name].ID == "" {
			return // the replacement or its instance does not exist any more
		}
		if replaces := r.Annotations[apiv1.ReplacesAnnotationKey]; !strings.Contains(replaces, c.Name) {
			continue // a replacement of another consolidation
		}
		after += m.priceOf(byName[name])
	}
	if after >= before {
		m.violate(ruleDearer, "nodes of %d claims, %s among them, cost $%.4f an hour, and their replacements %s cost $%.4f", len(move.prices), c.Name, before, key, after)
	}
}

// deleted checks the deletion of a claim by a replica.
func (m *moveRules) deleted(who string, c *apiv1.NodeClaim) {
	if c.DeletionTimestamp != nil {
		return
	}
	if slices.ContainsFunc(kubeapi.List[*apiv1.NodeClaim](m.world.platform.server), func(o *apiv1.NodeClaim) bool {
		return slices.Contains(strings.Split(o.Annotations[apiv1.ReplacesAnnotationKey], ","), c.Name)
	}) {
		m.replaced++
	}
	reason := reasonFor(c)
	if reason == "Underutilized" {
		m.finished(c)
	}
	if at, ok := m.matching[c.Name]; ok && reason == "Drifted" && min(time.Since(at), m.unhampered()) > followed {
		m.violate(ruleReason, "%s deletes claim %s because of drift, and the claim has not been drifted for %s", who, c.Name, time.Since(at).Round(time.Second))
	}
	if reason != "" || !condition.IsTrue(c, apiv1.ConditionTypeInitialized) || m.mayGo(c) {
		return
	}
	m.violate(ruleReason, "%s deletes claim %s, whose node is initialized and healthy, is not disrupted and has not expired", who, c.Name)
}

// mayGo reports whether a claim may be deleted without a disruption that was decided before: it is a replacement that is not needed,
// belongs to a static NodePool, or may be deleted without a replacement.
func (m *moveRules) mayGo(c *apiv1.NodeClaim) bool {
	pool, ok := kubeapi.Find[*apiv1.NodePool](m.world.platform.server, "", c.Labels[apiv1.NodePoolLabelKey])
	return c.Annotations[apiv1.ReplacesAnnotationKey] != "" || ok && pool.Spec.Replicas != nil || m.mayGoUnreplaced(c)
}

// mayGoUnreplaced reports whether a claim may be deleted without a replacement: it has expired, its NodePool or node is being deleted or
// does not exist, its node is not ready, or its instance ends.
func (m *moveRules) mayGoUnreplaced(c *apiv1.NodeClaim) bool {
	if d := c.Spec.ExpireAfter.Duration; d != nil && !time.Now().Before(c.CreationTimestamp.Add(*d-inexact)) {
		return true
	}
	pool, ok := kubeapi.Find[*apiv1.NodePool](m.world.platform.server, "", c.Labels[apiv1.NodePoolLabelKey])
	if !ok || pool.DeletionTimestamp != nil {
		return true
	}
	n, ok := kubeapi.Find[*corev1.Node](m.world.platform.server, "", c.Status.NodeName)
	if !ok || n.DeletionTimestamp != nil || !nodeReady(n) {
		return true
	}
	id := idOf(c)
	i, ok := m.world.account.instances()[id]
	_, noticed := m.world.account.noticed[id]
	return !ok || i.State != "running" || noticed || m.world.account.advised[id] || m.world.account.endsSoon(id)
}

// claimWritten checks the limits of the pool when a claim has launched.
func (m *moveRules) claimWritten(before client.Object, c *apiv1.NodeClaim) {
	was, _ := before.(*apiv1.NodeClaim)
	if was != nil && len(was.Status.Capacity) > 0 || len(c.Status.Capacity) == 0 {
		return
	}
	name := c.Labels[apiv1.NodePoolLabelKey]
	pool, ok := kubeapi.Find[*apiv1.NodePool](m.world.platform.server, "", name)
	if !ok {
		return
	}
	for key, limit := range pool.Spec.Limits {
		var sum resource.Quantity
		for _, o := range kubeapi.List[*apiv1.NodeClaim](m.world.platform.server) {
			if o.Name == c.Name || o.Labels[apiv1.NodePoolLabelKey] != name {
				continue
			}
			sum.Add(capacityOf(o, key))
		}
		sum.Add(capacityOf(c, key))
		if sum.Cmp(limit) > 0 {
			m.violate(ruleLimits, "pool %s has %s of %s with claim %s, and its limit is %s", name, sum.String(), key, c.Name, limit.String())
		}
	}
}

// capacityOf returns how much of a resource the node of a claim adds to the usage of its NodePool. Each claim counts as one node.
func capacityOf(c *apiv1.NodeClaim, name corev1.ResourceName) resource.Quantity {
	if name == "nodes" {
		return resource.MustParse("1")
	}
	return c.Status.Capacity[name]
}
