package disruption

import (
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A backoff is the time in which a node is not chosen again, because its disruption was rolled back when it was validated.
// Without it a node that always fails, such as one whose replacement has less room than its type promised, would be replaced
// without end.
type backoff struct {
	until time.Time
	lasts time.Duration
}

// The first backoff of a node and the longest. A node that did not fail for twice the longest begins again with the first.
const (
	minBackoff = 10 * time.Second
	maxBackoff = time.Hour
)

// backOff keeps the node from being chosen for twice as long as the last time.
func (c *Controller) backOff(n *model.Node) {
	if c.backoff == nil {
		c.backoff = map[string]backoff{}
	}
	lasts := min(max(minBackoff, 2*c.backoff[n.Name].lasts), maxBackoff)
	c.backoff[n.Name] = backoff{until: c.Clock.Now().Add(lasts), lasts: lasts}
}

// backoffs returns the nodes that must not be chosen now, by name, with the time until which. It forgets old backoffs.
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
