package pack

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// exclude splits pods, which are in key order, into those to plan and those to refuse without planning: the pods of
// Options.Excluded, the oversized pods (see oversized) and those that request resources which nothing has (see unavailable).
// refused has the latter by the verdict that is the reason. Planning reads neither their requests nor their constraints, so
// they cannot make planning fail.
func exclude(s *model.Snapshot, o Options, pods []*model.Pod) (rest []*model.Pod, refused map[model.Verdict][]*model.Pod) {
	verdicts := map[uintptr]model.Verdict{} // by address of the map of requests, which equal pods share
	names := map[corev1.ResourceName]bool{}
	refused = map[model.Verdict][]*model.Pod{}
	rest = make([]*model.Pod, 0, len(pods))
	for _, pod := range pods {
		id := reflect.ValueOf(pod.Requests).Pointer()
		v, known := verdicts[id]
		if !known {
			v = oversized(s, pod.Requests)
			verdicts[id] = v
			for name, amount := range pod.Requests {
				if amount > 0 {
					names[name] = true
				}
			}
		}
		if no, ok := o.Excluded[pod.Key]; ok {
			v = no
		}
		if v.OK() {
			rest = append(rest, pod)
		} else {
			refused[v] = append(refused[v], pod)
		}
	}
	if absent := unavailable(s, names); len(absent) > maxUnavailable {
		rest = slices.DeleteFunc(rest, func(pod *model.Pod) bool {
			v := requestsAny(absent, pod.Requests)
			if !v.OK() {
				refused[v] = append(refused[v], pod)
			}
			return !v.OK()
		})
	}
	return rest, refused
}

// maxRequest is the largest request that oversized accepts without checking nodes: 2^43 millicores, bytes or units,
// which is 8.8 billion cores or 8 TiB. The sum of a million such requests does not overflow int64.
const maxRequest = 1 << 43

// oversized returns a verdict on the first resource, in the order of Resources.Names, of which the request exceeds
// maxRequest and also the allocatable amount of every node and instance type. A request of model.MaxAmount is always
// oversized. The verdict is OK if there is no such resource.
func oversized(s *model.Snapshot, requests model.Resources) model.Verdict {
	large := false
	for _, v := range requests {
		large = large || v > maxRequest
	}
	if !large { // the usual case
		return model.Verdict{}
	}
	for _, name := range requests.Names() {
		if v := requests[name]; v > maxRequest && (v >= model.MaxAmount || !fitsAlone(s, model.Resources{name: v})) {
			return model.Verdict{Rule: model.RuleOversized, Resource: name, By: v}
		}
	}
	return model.Verdict{}
}

// maxUnavailable is the number of resources that no node and no instance type has which a plan explains by NodePool. Each
// resource that a pod requests adds to the work for all other pods.
const maxUnavailable = 32

// unavailable returns the names of resources that no node and no instance type has. If there are at most maxUnavailable names, it
// returns all of them. It overwrites names.
func unavailable(s *model.Snapshot, names map[corev1.ResourceName]bool) map[corev1.ResourceName]bool {
	if len(names) <= maxUnavailable { // the usual case
		return names
	}
	remove := func(allocatable model.Resources) {
		for name, v := range allocatable {
			if v > 0 {
				delete(names, name)
			}
		}
	}
	for _, p := range s.Pools() {
		for _, t := range s.Types(p.Name) {
			remove(t.Allocatable)
		}
	}
	for _, n := range s.Nodes() {
		remove(n.Allocatable)
	}
	return names
}

// requestsAny returns a verdict on the first of the names that is requested, in the order of Resources.Names, OK if none is.
func requestsAny(names map[corev1.ResourceName]bool, requests model.Resources) model.Verdict {
	for _, name := range requests.Names() {
		if v := requests[name]; v > 0 && names[name] {
			return model.Verdict{Rule: model.RuleResources, Resource: name, By: v}
		}
	}
	return model.Verdict{}
}

// withRunnableDaemons returns s without the DaemonSets that are being deleted, and without those whose pods fit on no empty
// node, existing or new. As they get no pods on new nodes, nodes reserve no capacity for them.
func withRunnableDaemons(s *model.Snapshot) *model.Snapshot {
	var gone []model.Ref
	for _, d := range s.Daemons() {
		if d.Object.DeletionTimestamp != nil || !fitsAlone(s, d.Pod.Requests) {
			gone = append(gone, model.Ref{Kind: model.KindDaemon, Key: d.Key})
		}
	}
	if len(gone) == 0 {
		return s
	}
	return s.Apply(model.Delta{Gone: gone})
}

// fitsAlone reports whether an empty node holds the requests: an existing node, or a new one of some instance type.
func fitsAlone(s *model.Snapshot, requests model.Resources) bool {
	holds := func(allocatable model.Resources) bool {
		_, _, short := requests.Short(allocatable)
		return !short
	}
	for _, p := range s.Pools() {
		if slices.ContainsFunc(s.Types(p.Name), func(t *model.InstanceType) bool { return holds(t.Allocatable) }) {
			return true
		}
	}
	return slices.ContainsFunc(s.Nodes(), func(n *model.Node) bool { return holds(n.Allocatable) })
}

// addRefusals adds a refusal for each verdict in refused, with the pods listed under it in key order. It sorts all refusals of the
// plan by the key of their first pod, and returns the plan.
func addRefusals(plan *model.Plan, refused map[model.Verdict][]*model.Pod) *model.Plan {
	for v, pods := range refused {
		plan.Refusals = append(plan.Refusals, model.Refusal{Pods: pods, Reasons: []model.PoolVerdict{{Verdict: v}}})
	}
	slices.SortFunc(plan.Refusals, func(a, b model.Refusal) int { return comparePods(a.Pods[0], b.Pods[0]) })
	return plan
}
