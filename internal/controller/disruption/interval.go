package disruption

import (
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
)

// Intervals between passes.
const (
	// poll is the interval between passes if the cluster does not change. Budgets may change with the time of day.
	poll = 10 * time.Second
	// minInterval and maxInterval bound the minimum time between two passes, see intervalAfter.
	minInterval = time.Second
	maxInterval = 5 * time.Minute
	// steadyAfter is the time without a change after which passes are less frequent. A pass costs CPU and then usually has the
	// same result as the one before. It can only differ because of the time or the cloud: schedules of budgets, expiry,
	// tolerations of repair, and prices. steadyAfter is longer than the time between the steps of a scale-in.
	steadyAfter = 2 * time.Minute
	// steadyPoll is the interval between passes after that.
	steadyPoll = time.Minute
)

// intervalAfter returns the minimum time until the next pass, after a pass with the given duration and number of commands. Without
// commands it is four times the duration, but at least minInterval and at most maxInterval.
func intervalAfter(took time.Duration, commands int) time.Duration {
	if commands > 0 {
		return minInterval
	}
	return min(max(minInterval, 4*took), maxInterval)
}

// An inputHistory records when the inputs of decisions changed, and whether the last pass was idle.
type inputHistory struct {
	// cluster is observe.Cluster.Version, limits are those of the throttle, and types is inputs.LastTypes.Changes.
	cluster uint64
	limits  throttle.Limits
	types   int
	// lastChange is when cluster or limits last changed.
	lastChange time.Time
	// unchanged is true if no recorded input differs from that of the last decision.
	unchanged bool
	// lastIdle is the start of the last pass if that was idle: it began no disruption or launch, did not fail, and does not wait
	// for nodes. It is zero if the last pass was not idle, or if cluster or limits changed since.
	lastIdle time.Time
}

// recordCluster stores the version of the cluster and the limits at the time now.
func (h *inputHistory) recordCluster(version uint64, limits throttle.Limits, now time.Time) {
	h.unchanged = version == h.cluster && limits == h.limits
	if !h.unchanged {
		h.cluster, h.limits, h.lastChange, h.lastIdle = version, limits, now, time.Time{}
	}
}

// recordTypes stores the version of the instance types. It is called after recordCluster.
func (h *inputHistory) recordTypes(version int) {
	h.unchanged = h.unchanged && version == h.types
	h.types = version
}

// recordPass stores whether the pass that started at the given time was idle.
func (h *inputHistory) recordPass(start time.Time, idle bool) {
	h.lastIdle = time.Time{}
	if idle {
		h.lastIdle = start
	}
}

// omitsPass reports whether the pass at the time now is omitted.
func (h *inputHistory) omitsPass(now time.Time) bool {
	return !h.lastIdle.IsZero() && now.Sub(h.lastChange) >= steadyAfter && now.Sub(h.lastIdle) < steadyPoll
}

// sameInputs reports whether the last decision had the inputs of a decision about s. It is false if s has virtual pods: their
// sources are not part of the cluster's version.
func (h *inputHistory) sameInputs(s *model.Snapshot) bool {
	return h.unchanged && !slices.ContainsFunc(s.Pending(), (*model.Pod).Virtual)
}
