package disruption

import (
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A backoff is the time during which a node is not disrupted again after the validation of its disruption failed, or after it could not
// be marked. Without it, a node could be replaced again and again. An example is a node whose replacements always have less capacity than
// their instance type should have. A node that cannot be marked, because an admission webhook refuses that, could use up a budget for good.
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

// backOff starts a backoff of the node, which is twice as long as its last one.
func (c *Controller) backOff(n *model.Node) {
	if c.backoff == nil {
		c.backoff = map[string]backoff{}
	}
	lasts := min(max(minBackoff, 2*c.backoff[n.Name].lasts), maxBackoff)
	c.backoff[n.Name] = backoff{until: c.Clock.Now().Add(lasts), lasts: lasts}
}

// backoffs returns the end of each current backoff by node name. It forgets backoffs that ended more than twice maxBackoff ago.
func (c *Controller) backoffs(now time.Time) map[string]time.Time {
	names := map[string]time.Time{}
	for name, b := range c.backoff {
		switch {
		case now.Before(b.until):
			names[name] = b.until
		case now.Sub(b.until) > 2*maxBackoff:
			delete(c.backoff, name)
		}
	}
	return names
}
