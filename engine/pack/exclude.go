package pack

import (
	"reflect"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// exclude splits pods, which are in key order, into those to plan and those to refuse without planning. It refuses the pods
// of Options.Leave and the oversized pods (see oversized), with one Refusal for each different verdict. Planning reads
// neither the requests nor the constraints of refused pods, so refused pods cannot make planning fail.
func exclude(s *model.Snapshot, o Options, pods []*model.Pod) (rest []*model.Pod, refused []model.Refusal) {
	verdicts := map[uintptr]model.Verdict{} // by address of the map of requests, which equal pods share
	at := map[model.Verdict]int{}
	rest = make([]*model.Pod, 0, len(pods))
	for _, pod := range pods {
		id := reflect.ValueOf(pod.Requests).Pointer()
		v, known := verdicts[id]
		if !known {
			v = oversized(s, pod.Requests)
			verdicts[id] = v
		}
		if no, ok := o.Leave[pod.Key]; ok {
			v = no
		}
		if v.OK() {
			rest = append(rest, pod)
			continue
		}
		n, ok := at[v]
		if !ok {
			n, at[v] = len(refused), len(refused)
			refused = append(refused, model.Refusal{Reasons: []model.PoolVerdict{{Verdict: v}}})
		}
		refused[n].Pods = append(refused[n].Pods, pod)
	}
	return rest, refused
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
	for _, p := range s.Pools() {
		for _, t := range s.Types(p.Name) {
			if _, _, short := requests.Short(t.Allocatable); !short {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.Nodes(), func(n *model.Node) bool {
		_, _, short := requests.Short(n.Allocatable)
		return !short
	})
}

// compareRefusals orders refusals by the key of their first pod.
func compareRefusals(a, b model.Refusal) int { return comparePods(a.Pods[0], b.Pods[0]) }

// refuse adds the refusals to the plan and returns it. Plan.Refusals are in the order of compareRefusals.
func refuse(plan *model.Plan, refused []model.Refusal) *model.Plan {
	plan.Refusals = append(plan.Refusals, refused...)
	slices.SortStableFunc(plan.Refusals, compareRefusals)
	return plan
}
