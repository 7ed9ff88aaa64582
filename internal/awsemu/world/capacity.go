package world

import (
	"fmt"
	"slices"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// The capacity types that instances are bought as.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
)

// A Pool is a combination of type, zone and capacity type, which has its own capacity and spot price.
type Pool struct{ Type, Zone, Capacity string }

// A CapacityRule is the maximum number of instances in each matching pool. Every part is a pattern with * and ?.
type CapacityRule struct {
	Pool
	// Limit is the number of instances; 0 means none at all.
	Limit int
	// Code is the error of a launch beyond the limit, by default
	// InsufficientInstanceCapacity.
	Code string
}

// unlimited is the room of a pool without a rule.
const unlimited = 1 << 30

// SetCapacity adds a rule; of several that match a pool the last one counts.
func (w *World) SetCapacity(rule CapacityRule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.capacity = append(w.capacity, rule)
}

// ClearCapacity removes the rules whose patterns match, so *, *, * removes all.
func (w *World) ClearCapacity(pattern Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.capacity = slices.DeleteFunc(w.capacity, func(r CapacityRule) bool {
		return pattern == r.Pool || pattern.matches(r.Pool)
	})
}

// SetQuota limits the vCPUs of a capacity type; a negative number removes the
// limit.
func (w *World) SetQuota(capacityType string, vcpus int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if vcpus < 0 {
		delete(w.quota, capacityType)
		return
	}
	w.quota[capacityType] = vcpus
}

// matches reports whether every part of pattern p matches.
func (p Pool) matches(other Pool) bool {
	return wire.Match(p.Type, other.Type) && wire.Match(p.Zone, other.Zone) && wire.Match(p.Capacity, other.Capacity)
}

// room returns how many more instances a pool holds, and the error when it
// holds no more.
func (w *World) room(pool Pool) (n int, code string) {
	n, code = unlimited, "InsufficientInstanceCapacity"
	for _, rule := range w.capacity {
		if !rule.matches(pool) {
			continue
		}
		n, code = max(0, rule.Limit-w.used[pool]), "InsufficientInstanceCapacity"
		if rule.Code != "" {
			code = rule.Code
		}
	}
	return n, code
}

// quotaRoom returns how many more instances of vcpus each the quota allows.
func (w *World) quotaRoom(capacityType string, vcpus int) int {
	limit, ok := w.quota[capacityType]
	if !ok {
		return unlimited
	}
	return max(0, (limit-w.usedVCPU[capacityType])/vcpus)
}

// capacityMessage is EC2's sentence for a lack of capacity.
func capacityMessage(pool Pool, code string) string {
	switch {
	case code == "InsufficientInstanceCapacity" && pool.Capacity == Spot:
		return "There is no Spot capacity available that matches your request."
	case code == "InsufficientInstanceCapacity":
		return fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
			"Our system will be working on provisioning additional capacity.", pool.Type, pool.Zone)
	case code == "UnfulfillableCapacity":
		return "Unable to fulfill capacity due to your request configuration. Please adjust your request and try again."
	}
	return fmt.Sprintf("The launch of %s in %s as %s was refused.", pool.Type, pool.Zone, pool.Capacity)
}

// quotaFailure is EC2's refusal of a launch beyond a quota.
func (w *World) quotaFailure(capacityType string) Failure {
	if capacityType == Spot {
		return Failure{Code: "MaxSpotInstanceCountExceeded", Message: "Max spot instance count exceeded"}
	}
	return Failure{
		Code: "VcpuLimitExceeded",
		Message: fmt.Sprintf("You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket "+
			"that the specified instance type belongs to.", w.quota[capacityType]),
	}
}
