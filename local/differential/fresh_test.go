package differential

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
)

// An opening is a node on which the plugins would accept a refused pod after the plan is carried out.
type opening struct {
	kind  string // an existing, planned or new node
	where string // name of the node; for a new node its pool and labels
	// pool and typ are set for a new node. pool includes the reservation that the node uses. least is the minimum number of
	// types that the pool requires (minValues).
	pool, typ string
	least     int
}

// openings returns the nodes that would accept the first pod of the refusal: existing nodes, and every type of every pool in
// every offering. If the engine is right, there are none.
func (w *world) openings(s *scheduler, plan *model.Plan, r model.Refusal) ([]opening, error) {
	found, err := w.find(s, plan, r)
	if err != nil || len(found) == 0 || !w.spreads(r.Pods[0].Object) {
		return found, err
	}
	defer w.unplain(s)()
	without, err := w.find(s, plan, r)
	return common(found, without), err
}

// find is openings with the pods that are in the cluster now.
func (w *world) find(s *scheduler, plan *model.Plan, r model.Refusal) ([]opening, error) {
	pod, err := unbound(r.Pods[0])
	if err != nil {
		return nil, err
	}
	if beyond(r) || w.vague(pod) {
		return nil, nil
	}
	if allowed, err := w.refusedForDaemonSet(r); allowed || err != nil {
		return nil, err
	}
	if w.spreads(pod) {
		undo, err := w.furnish(s, plan)
		if err != nil {
			return nil, err
		}
		defer undo()
	}
	var out []opening
	for _, n := range w.nodes {
		if !w.comesLater(r, n.Name) && s.judge(pod, n.Name) == nil && !w.keptRoom(s, pod, n) {
			kind := "a node that is there"
			if w.launched(n.Name) {
				kind = "a planned node"
			}
			out = append(out, opening{kind: kind, where: n.Name})
		}
	}
	for _, pool := range w.snapshot.Pools() {
		if !pool.Usable().OK() || excused(pool, r) {
			continue
		}
		for _, fresh := range w.freshNodes(plan, pool) {
			free, err := w.takes(s, pod, fresh)
			if err != nil {
				return nil, err
			}
			if free {
				out = append(out, openingAt(pool, fresh))
			}
		}
	}
	return enough(out), nil
}

// comesLater reports whether the engine leaves it to kube-scheduler to bind the pod to this node after the node has joined. It
// does so for
//
//   - a planned node, if limits forbid a node of the pod's own or a pod on the planned node meets its affinity: no pod is added to
//     a node that is planned already;
//   - a claim that is not launched, if the pod has topology constraints: its domain may not be known yet.
func (w *world) comesLater(r model.Refusal, node string) bool {
	if w.launched(node) {
		return slices.ContainsFunc(r.Reasons, func(v model.PoolVerdict) bool {
			return v.Verdict.Rule == model.RuleLimit || v.Verdict.Cause == model.CauseAffinity
		})
	}
	n, _ := w.snapshot.NodeByName(node)
	return !n.Launched() && len(w.topologyKeys(r.Pods[0].Object)) > 0
}

// openingAt returns the opening for a new node.
func openingAt(pool *model.Pool, fresh *corev1.Node) opening {
	return opening{
		kind: "a new node", where: fmt.Sprintf("pool %s, %v", pool.Name, fresh.Labels),
		pool: pool.Name + " " + fresh.Labels[scenario.ReservationLabel],
		typ:  fresh.Labels[corev1.LabelInstanceTypeStable], least: leastTypes(pool),
	}
}

// common returns the openings that are in both lists.
func common(a, b []opening) []opening {
	return enough(slices.DeleteFunc(slices.Clone(a), func(o opening) bool { return !slices.Contains(b, o) }))
}

// enough returns the openings without those on new nodes for which fewer types are possible than the pool's minValues require.
// Types in different domains are counted together, because a claim may name several types and domains if the pod fits in each.
// Types with a reservation are counted for that reservation alone.
func enough(all []opening) []opening {
	types := map[string]map[string]bool{}
	for _, o := range all {
		if types[o.pool] == nil {
			types[o.pool] = map[string]bool{}
		}
		types[o.pool][o.typ] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(o opening) bool { return len(types[o.pool]) < o.least })
}

// leastTypes returns the pool's minValues of instance types.
func leastTypes(pool *model.Pool) int {
	if r, ok := pool.Requirements.Get(corev1.LabelInstanceTypeStable); ok {
		return r.MinValues()
	}
	return 0
}

// furnish adds an empty node for each node that a pending pod could get. The engine spreads pods over all domains that nodes
// may have in the future, not only over those of existing nodes. undo removes the added nodes.
func (w *world) furnish(s *scheduler, plan *model.Plan) (undo func(), err error) {
	nodes, pods := s.nodes, s.pods
	more := slices.Clone(nodes)
	for _, pool := range w.snapshot.Pools() {
		if !pool.Usable().OK() {
			continue
		}
		for _, fresh := range w.freshNodes(plan, pool) {
			wanted, err := w.wanted(s, fresh)
			if err != nil {
				return nil, err
			}
			if wanted {
				fresh.Name = fmt.Sprintf("could-be-%d", len(more))
				fresh.Labels[corev1.LabelHostname] = fresh.Name
				fresh.Status.Allocatable = nil
				more = append(more, fresh)
			}
		}
	}
	for _, n := range w.snapshot.Nodes() { // a claim that is not launched may become a node in any of its domains
		if n.Launched() || n.Deleting {
			continue
		}
		for _, way := range waysOf(w.snapshot.Types(n.Pool), model.Wishes(w.snapshot, n), false) {
			node := way.node(fmt.Sprintf("could-be-%d", len(more)), n.Claim.Labels, model.Wishes(w.snapshot, n), n.Claim.Spec.Taints, luck{})
			node.Status.Allocatable = nil
			more = append(more, node)
		}
	}
	s.set(more, pods)
	return func() { s.set(nodes, pods) }, nil
}

// unplain removes the placed pods without topology constraints. They can always bind last, so a spread constraint cannot rely
// on them.
func (w *world) unplain(s *scheduler) (undo func()) {
	nodes, pods := s.nodes, s.pods
	plain := map[string]bool{}
	for _, p := range w.waiting {
		plain[p.Namespace+"/"+p.Name] = len(w.topologyKeys(p)) == 0
	}
	s.set(s.nodes, slices.DeleteFunc(slices.Clone(s.pods), func(p *corev1.Pod) bool { return plain[p.Namespace+"/"+p.Name] }))
	return func() { s.set(nodes, pods) }
}

// wanted reports whether some pending pod could be bound to the new node. Only plugins that consider pod and node alone are
// checked.
func (w *world) wanted(s *scheduler, fresh *corev1.Node) (bool, error) {
	residents, err := daemonsOn(fresh, w.snapshot)
	if err != nil {
		return false, err
	}
	for _, p := range w.snapshot.Pending() {
		pod, err := unbound(p)
		if err != nil {
			return false, err
		}
		if r := s.alone(pod, fresh, residents); r == nil || !r.ofNodeAlone() {
			return true, nil
		}
	}
	return false, nil
}

// keptRoom reports whether the pod would use capacity of a DaemonSet pod that other pods on the node exclude. The engine keeps
// this capacity free, because the DaemonSet pod may come after those pods are gone.
func (w *world) keptRoom(s *scheduler, pod *corev1.Pod, n *corev1.Node) bool {
	if w.complete {
		return false
	}
	there := slices.DeleteFunc(slices.Clone(s.pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != n.Name })
	for _, d := range w.daemons {
		if d.Spec.NodeName == n.Name && !slices.ContainsFunc(there, func(p *corev1.Pod) bool { return p.Name == d.Name }) {
			there = append(there, d)
		}
	}
	r := s.alone(pod, n, there)
	return r != nil && r.ofNodeAlone()
}

// constraints returns the pod's spread constraints, hard and soft, or else the defaults.
func (w *world) constraints(pod *corev1.Pod) []corev1.TopologySpreadConstraint {
	if own := pod.Spec.TopologySpreadConstraints; len(own) > 0 {
		return own
	}
	return w.defaults[pod.Namespace+"/"+pod.Name]
}

// spreads reports whether the pod has a hard spread constraint.
func (w *world) spreads(pod *corev1.Pod) bool {
	return slices.ContainsFunc(w.constraints(pod), func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule
	})
}

// missed returns the rule of a breach: the kind of node on which the pod fits, and the nearest reason of the wrong refusal.
func missed(r model.Refusal, where string) string {
	var nearest model.Rule
	for _, v := range r.Reasons {
		nearest = max(nearest, v.Verdict.Rule)
	}
	return fmt.Sprintf("refused as %q, but fits on %s", model.Verdict{Rule: nearest}, where)
}

// launched reports whether the node of that name comes from the plan.
func (w *world) launched(name string) bool {
	_, known := w.snapshot.NodeByName(name)
	return !known
}

// beyond reports whether the engine has not evaluated the pods: they are unsupported or invalid, or the bound on its work was
// reached.
func beyond(r model.Refusal) bool {
	return slices.ContainsFunc(r.Reasons, func(v model.PoolVerdict) bool {
		return v.Verdict.Rule == model.RuleUnsupported || v.Verdict.Rule == model.RuleEffort ||
			v.Verdict.Rule == model.RuleInvalid
	})
}

// excused reports whether the engine refuses the pods because the pool has too few types for its minValues. New nodes of such a
// pool are not tried.
func excused(pool *model.Pool, r model.Refusal) bool {
	return slices.ContainsFunc(r.Reasons, func(v model.PoolVerdict) bool {
		return v.Pool == pool.Name && v.Verdict.Rule == model.RuleMinValues
	})
}

// beyondLimits reports whether the pool's limits forbid another node of the type. Planned nodes count with the smallest types,
// as few as their pool requires, because the engine adds further options only where limits allow, and drops them for a node
// that is needed. Existing claims count with all of their types.
func (w *world) beyondLimits(plan *model.Plan, pool *model.Pool, t *model.InstanceType) bool {
	used := w.snapshot.Usage(pool.Name)
	for _, n := range w.snapshot.Nodes() {
		if n.Pool == pool.Name && !n.Launched() {
			used = used.Plus(largest(waysOf(w.snapshot.Types(pool.Name), model.Wishes(w.snapshot, n), false)))
		}
	}
	for i := range plan.Nodes {
		if n := &plan.Nodes[i]; n.Pool == pool {
			used = used.Plus(narrowed(n)).Plus(model.Resources{model.Nodes: 1})
		}
	}
	used = used.Plus(t.Capacity).Plus(model.Resources{model.Nodes: 1})
	for name, most := range pool.Limits {
		if used[name] > most {
			return true
		}
	}
	return false
}

// narrowed returns the largest usage of a planned node whose options are the smallest types, as few as its pool requires.
func narrowed(n *model.PlannedNode) model.Resources {
	ways := waysOf(n.Options, n.Requirements, true)
	slices.SortStableFunc(ways, func(a, b way) int {
		return cmp.Compare(a.kind.Capacity[corev1.ResourceCPU], b.kind.Capacity[corev1.ResourceCPU]) // cpu and nodes are limited
	})
	types := map[string]bool{}
	for i, way := range ways {
		if types[way.kind.Name] = true; len(types) >= leastTypes(n.Pool) {
			return largest(ways[:i+1])
		}
	}
	return largest(ways)
}

func largest(ways []way) model.Resources {
	var most model.Resources
	for _, w := range ways {
		most = most.Max(w.kind.Capacity)
	}
	return most
}

// vague reports whether a rule about the pod uses a user's label of which some pool does not list the values. Such rules are
// spread, affinity and anti-affinity. No domain can be planned then, because a node of that pool may be in any domain. The
// engine also does not choose a value in order to exclude a DaemonSet that selects by such a label.
func (w *world) vague(pod *corev1.Pod) bool {
	keys := w.topologyKeys(pod)
	for _, p := range w.snapshot.Pods.Values() { // pods with anti-affinity to the pod may be in any domain as well
		keys = append(keys, antiAffinityKeys(p.Object)...)
	}
	if w.spreads(pod) { // nodes that the pod does not select do not count
		keys = append(keys, selectedKeys(pod)...)
	}
	for _, d := range w.snapshot.Daemons() {
		if w.spreads(pod) || len(antiAffinityKeys(pod))+len(antiAffinityKeys(d.Pod.Object)) > 0 {
			keys = append(keys, selectedKeys(d.Pod.Object)...)
		}
	}
	return slices.ContainsFunc(keys, func(key string) bool {
		return slices.ContainsFunc(w.snapshot.Pools(), func(pool *model.Pool) bool {
			r, ok := pool.Requirements.Get(key)
			return ok && !random.Labels.WellKnown.Has(key) && r.Operator() != corev1.NodeSelectorOpIn &&
				r.Operator() != corev1.NodeSelectorOpDoesNotExist
		})
	})
}

// selectedKeys returns the label keys by which the pod's node selector and required node affinity select nodes.
func selectedKeys(pod *corev1.Pod) []string {
	var keys []string
	for key := range pod.Spec.NodeSelector {
		keys = append(keys, key)
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, e := range t.MatchExpressions {
				keys = append(keys, e.Key)
			}
		}
	}
	return keys
}

// topologyKeys returns the topology keys of the pod's constraints about other pods.
func (w *world) topologyKeys(pod *corev1.Pod) []string {
	var keys []string
	for _, c := range w.constraints(pod) {
		keys = append(keys, c.TopologyKey)
	}
	for _, t := range affinityTerms(pod) {
		keys = append(keys, t.TopologyKey)
	}
	return append(keys, antiAffinityKeys(pod)...)
}

// antiAffinityKeys returns the topology keys of the pod's required anti-affinity.
func antiAffinityKeys(pod *corev1.Pod) []string {
	var keys []string
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			keys = append(keys, t.TopologyKey)
		}
	}
	return keys
}

// affinityTerms returns the pod's required affinity.
func affinityTerms(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// takes reports whether the plugins accept the pod on a new node in the cluster, after the pods of DaemonSets run there.
func (w *world) takes(s *scheduler, pod *corev1.Pod, fresh *corev1.Node) (bool, error) {
	residents, err := daemonsOn(fresh, w.snapshot)
	if err != nil {
		return false, err
	}
	most, err := w.anywhere(fresh)
	if err != nil {
		return false, err
	}
	for _, daemons := range [][]*corev1.Pod{residents, most} {
		if r := s.alone(pod, fresh, daemons); r != nil && r.ofNodeAlone() {
			return false, nil
		}
	}
	nodes, pods := s.nodes, s.pods
	defer s.set(nodes, pods)
	s.set(append(slices.Clone(nodes), fresh), pods)
	return s.employ(residents) && s.judge(pod, fresh.Name) == nil, nil
}

// anywhere returns the DaemonSet pods that would run on a node of the type in any of its offerings. The engine subtracts the
// requests of all of them, because the offering is not known before the launch.
func (w *world) anywhere(fresh *corev1.Node) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	seen := map[string]bool{}
	for _, zone := range []string{"", "a", "b", "c"} {
		for _, capacityType := range []string{"", apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot, apiv1.CapacityTypeReserved} {
			node := fresh.DeepCopy()
			if zone != "" {
				node.Labels[corev1.LabelTopologyZone], node.Labels[corev1.LabelFailureDomainBetaZone] = zone, zone
			}
			if capacityType != "" {
				node.Labels[apiv1.CapacityTypeLabelKey] = capacityType
			}
			daemons, err := daemonsOn(node, w.snapshot)
			if err != nil {
				return nil, err
			}
			for _, d := range daemons {
				if !seen[d.Name] {
					seen[d.Name] = true
					out = append(out, d)
				}
			}
		}
	}
	return out, nil
}

// freshNodes returns every node that the pool could launch: each type in each offering, with each combination of values of the
// user's own labels.
func (w *world) freshNodes(plan *model.Plan, pool *model.Pool) []*corev1.Node {
	var out []*corev1.Node
	for _, chosen := range ownLabels(pool) {
		claim := map[string]string{}
		for key, v := range pool.Labels {
			claim[key] = v
		}
		for key, v := range chosen {
			claim[key] = v
		}
		for _, way := range waysOf(w.snapshot.Types(pool.Name), pool.Requirements, true) {
			if spent(plan, way.offering) || w.beyondLimits(plan, pool, way.kind) {
				continue
			}
			out = append(out, way.node("fresh", claim, pool.Requirements, pool.Taints, luck{}))
		}
	}
	return out
}

// spent reports whether the plan uses all instances of the offering's reservation.
func spent(plan *model.Plan, o model.Offering) bool {
	left := o.ReservationCapacity
	for i := range plan.Nodes {
		if plan.Nodes[i].Offering.ReservationID == o.ReservationID {
			left--
		}
	}
	return o.ReservationID != "" && left <= 0
}

// ownLabels returns all combinations of values for the labels that the pool's requirements constrain and that no type sets.
func ownLabels(pool *model.Pool) []map[string]string {
	all := []map[string]string{{}}
	for r := range pool.Requirements.All() {
		if random.Labels.WellKnown.Has(r.Key()) || pool.Labels[r.Key()] != "" {
			continue
		}
		var next []map[string]string
		for _, so := range all {
			for _, v := range valuesOf(r) {
				more := map[string]string{}
				for key, old := range so {
					more[key] = old
				}
				if v != "" {
					more[r.Key()] = v
				}
				next = append(next, more)
			}
		}
		all = next
	}
	return all
}

// valuesOf returns the values that a label may get, with "" if the label may be missing.
func valuesOf(r require.Requirement) []string {
	switch r.Operator() {
	case corev1.NodeSelectorOpIn:
		return r.Values()
	case corev1.NodeSelectorOpDoesNotExist:
		return []string{""}
	}
	var out []string
	for _, v := range []string{"r1", "r2", "blue", "green", "else"} {
		if r.Has(v) {
			out = append(out, v)
		}
	}
	return out
}
