package model

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// MaxRequest bounds the requests that Oversized accepts without a look at nodes: 2^43 millicores or units, which is 8.7
// billion cores or 8 TiB. The sum of a million such requests does not overflow int64.
const MaxRequest = 1 << 43

// Oversized returns a verdict that is not OK if no node can hold the requests: one exceeds MaxRequest, and no instance
// type or node has that much. A request of MaxAmount is always oversized.
func (s *Snapshot) Oversized(requests Resources) Verdict {
	large := false
	for _, v := range requests {
		large = large || v > MaxRequest
	}
	if !large { // the usual case
		return Verdict{}
	}
	for _, name := range requests.Names() {
		if v := requests[name]; v > MaxRequest && (v >= MaxAmount || !s.anywhere(name, v)) {
			return Verdict{Rule: RuleOversized, Resource: name, By: v}
		}
	}
	return Verdict{}
}

// anywhere reports whether some instance type or node has the amount v of the resource.
func (s *Snapshot) anywhere(name corev1.ResourceName, v int64) bool {
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

// roughly prints a large amount with at most three digits, rounded down: 16Ti of memory, 9T cores.
func roughly(name corev1.ResourceName, v int64) string {
	base, units := int64(1000), []string{"", "k", "M", "G", "T", "P"}
	switch {
	case name == corev1.ResourceCPU:
		v /= 1000
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, isHugePage(name):
		base, units = 1024, []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	}
	unit := 0
	for v >= base && unit < len(units)-1 {
		v, unit = v/base, unit+1
	}
	return fmt.Sprintf("%d%s", v, units[unit])
}

// oversized returns the message of RuleOversized.
func (v Verdict) oversized() string {
	amount := roughly(v.Resource, v.By)
	if v.By >= MaxAmount {
		amount = "more than " + amount
	}
	return fmt.Sprintf("requests %s %s, which no node can have", amount, v.Resource)
}
