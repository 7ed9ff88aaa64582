package disruption

import (
	"maps"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A backoff is the time during which a node is not disrupted again after the validation of its disruption failed, or after it could
// not be marked. Without it, a node could be replaced again and again. An example is a node whose replacements always have less
// capacity than their instance type should have. A node that cannot be marked, because an admission webhook refuses that, could use
// up a budget for good.
type backoff struct {
	until time.Time
	lasts time.Duration
}

// minBackoff is the first backoff of a node, maxBackoff the longest one. If a node has no failure for twice maxBackoff after its
// last backoff, its next one is minBackoff again.
const (
	minBackoff = 10 * time.Second
	maxBackoff = time.Hour
)

// startBackoff starts a backoff of the node, which is twice as long as its last one.
func (c *Controller) startBackoff(n *model.Node) {
	if c.backoffs == nil {
		c.backoffs = map[string]backoff{}
	}
	lasts := min(max(minBackoff, 2*c.backoffs[n.Name].lasts), maxBackoff)
	c.backoffs[n.Name] = backoff{until: c.Clock.Now().Add(lasts), lasts: lasts}
}

// activeBackoffs returns the end of each backoff that has not ended, by node name.
func (c *Controller) activeBackoffs(now time.Time) map[string]time.Time {
	ends := map[string]time.Time{}
	for name, b := range c.backoffs {
		if now.Before(b.until) {
			ends[name] = b.until
		}
	}
	return ends
}

// dropOldBackoffs removes the backoffs that ended more than twice maxBackoff ago.
func (c *Controller) dropOldBackoffs(now time.Time) {
	maps.DeleteFunc(c.backoffs, func(_ string, b backoff) bool { return now.Sub(b.until) > 2*maxBackoff })
}
