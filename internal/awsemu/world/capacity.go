package world

import (
	"fmt"
	"slices"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// The capacity types of instances, see also Reserved.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
)

// A Pool is a combination of type, zone and capacity type. Each pool has its own capacity and spot price.
type Pool struct{ Type, Zone, Capacity string }

// A CapacityRule limits the number of instances in each matching pool. Every field of its Pool is a pattern with * and ?.
type CapacityRule struct {
	Pool
	// Limit is the maximum number of instances; 0 means no capacity.
	Limit int
	// Code is the error code of a launch beyond the limit. The default is InsufficientInstanceCapacity.
	Code string
}

// unlimited is the number of instances that a pool without a rule has room for.
const unlimited = 1 << 30

// SetCapacity adds a rule. If several rules match a pool, the last one applies.
func (w *World) SetCapacity(rule CapacityRule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.capacity = append(w.capacity, rule)
}

// ClearCapacity removes the rules whose pools match the pattern. The pattern *, *, * removes all.
func (w *World) ClearCapacity(pattern Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.capacity = slices.DeleteFunc(w.capacity, func(r CapacityRule) bool {
		return pattern == r.Pool || pattern.matches(r.Pool)
	})
}

// SetQuota limits the vCPUs of a capacity type. A negative number removes the limit.
func (w *World) SetQuota(capacityType string, vcpus int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if vcpus < 0 {
		delete(w.quota, capacityType)
		return
	}
	w.quota[capacityType] = vcpus
}

// matches reports whether every field of the pattern p matches.
func (p Pool) matches(other Pool) bool {
	return wire.Match(p.Type, other.Type) && wire.Match(p.Zone, other.Zone) && wire.Match(p.Capacity, other.Capacity)
}

// room returns the number of further instances that a pool has room for, and the error code for launches beyond it.
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

// quotaRoom returns the number of further instances with that many vCPUs that the quota allows.
func (w *World) quotaRoom(capacityType string, vcpus int) int {
	limit, ok := w.quota[capacityType]
	if !ok {
		return unlimited
	}
	return max(0, (limit-w.usedVCPU[capacityType])/vcpus)
}

// capacityMessage returns EC2's message about missing capacity.
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

// quotaFailure returns EC2's error for a launch beyond a quota.
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
