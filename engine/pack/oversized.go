package pack

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// maxRequest is the largest request that oversized accepts without checking nodes: 2^43 millicores, bytes or units,
// which is 8.8 billion cores or 8 TiB. The sum of a million such requests does not overflow int64.
const maxRequest = 1 << 43

// oversized returns a verdict that is not OK if some request exceeds maxRequest and no instance type or node has that
// much. A request of model.MaxAmount is always oversized.
func oversized(s *model.Snapshot, requests model.Resources) model.Verdict {
	large := false
	for _, v := range requests {
		large = large || v > maxRequest
	}
	if !large { // the usual case
		return model.Verdict{}
	}
	for _, name := range requests.Names() {
		if v := requests[name]; v > maxRequest && (v >= model.MaxAmount || !anywhere(s, name, v)) {
			return model.Verdict{Rule: model.RuleOversized, Resource: name, By: v}
		}
	}
	return model.Verdict{}
}

// anywhere reports whether some instance type or node has the amount v of the resource.
func anywhere(s *model.Snapshot, name corev1.ResourceName, v int64) bool {
	for _, p := range s.Pools() {
		for _, t := range s.Types(p.Name) {
			if t.Capacity[name] >= v {
				return true
			}
		}
	}
	for _, n := range s.Nodes() {
		if n.Allocatable[name] >= v {
			return true
		}
	}
	return false
}
