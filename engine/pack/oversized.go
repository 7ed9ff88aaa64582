package pack

import "github.com/karpenter-go/karpenter/engine/model"

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
