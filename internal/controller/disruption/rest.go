package disruption

import (
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A rest is a time in which a node is not chosen again, because it was found at the last moment that it cannot go. Without
// it one that is always found so (its successor has less room than its type promised) would be replaced in vain forever.
type rest struct {
	until time.Time
	lasts time.Duration
}

// The first rest of a node and the longest. What was well for twice the longest starts anew.
const (
	shortRest = 10 * time.Second
	longRest  = time.Hour
)

// rest lets the node be for twice as long as the last time.
func (c *Controller) rest(n *model.Node) {
	if c.resting == nil {
		c.resting = map[string]rest{}
	}
	lasts := min(max(shortRest, 2*c.resting[n.Name].lasts), longRest)
	c.resting[n.Name] = rest{until: c.Clock.Now().Add(lasts), lasts: lasts}
}

// rests returns the nodes that rest now. It forgets those that have long been well.
func (c *Controller) rests(now time.Time) map[string]bool {
	names := map[string]bool{}
	for name, r := range c.resting {
		switch {
		case now.Before(r.until):
			names[name] = true
		case now.Sub(r.until) > 2*longRest:
			delete(c.resting, name)
		}
	}
	return names
}
