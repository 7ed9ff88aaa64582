package disruption

import (
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
)

// When nothing changes, passes are less frequent. A pass costs CPU and usually has the same result as the one before. It can only
// differ because of the time or the cloud: schedules of budgets, expiry, tolerations of repair, and prices.
const (
	// steadyAfter is how long nothing must have changed. It is longer than the steps of a scale-in are apart.
	steadyAfter = 2 * time.Minute
	// steadyPoll is the interval between passes after that.
	steadyPoll = time.Minute
)

// A rest has the state by which passes become less frequent.
type rest struct {
	// version and limits are those of the cluster and of the throttle, and since is when one of them last changed.
	version uint64
	limits  throttle.Limits
	since   time.Time
	// same is true if neither has changed since the last decision, and types is LastTypes.Changes at that decision.
	same  bool
	types int
	// decided is when the last pass started, zero if that pass began a disruption or a launch, failed, or waits for nodes.
	decided time.Time
}

// rests reports whether the pass at the time now is omitted.
func (c *Controller) rests(now time.Time) bool {
	version, limits := c.Cluster.Version(), c.Throttle.Limits()
	c.rest.same = version == c.rest.version && limits == c.rest.limits
	if !c.rest.same {
		c.rest = rest{version: version, limits: limits, since: now, types: c.rest.types}
	}
	return !c.rest.decided.IsZero() && now.Sub(c.rest.since) >= steadyAfter && now.Sub(c.rest.decided) < steadyPoll
}

// cursorIn returns the cursor for the decision about s, which c.look returned for this pass.
func (c *Controller) cursorIn(s *model.Snapshot) disrupt.Cursor {
	if c.unchanged(s) {
		return c.cursor.Unchanged()
	}
	return c.cursor
}

// unchanged reports whether s, which c.look returned for this pass, is the cluster of the last decision. It is false if s has virtual
// pods: their sources are not part of the cluster's version.
func (c *Controller) unchanged(s *model.Snapshot) bool {
	types := c.types.Changes()
	same := c.rest.same && types == c.rest.types && !slices.ContainsFunc(s.Pending(), (*model.Pod).Virtual)
	c.rest.types = types
	return same
}

// noted records the pass that started at the time now. quiet is true if it began no disruption or launch, did not fail, and
// does not wait for nodes.
func (r *rest) noted(quiet bool, now time.Time) {
	r.decided = time.Time{}
	if quiet {
		r.decided = now
	}
}
