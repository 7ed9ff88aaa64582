package expiration

import (
	"sync"
	"time"
)

// Within window, at most a share of all claims is deleted by expiry, and few at least.
const (
	window = 10 * time.Minute
	share  = 0.2
	few    = 10
)

// A pace bounds how many claims expire within window, so that a mistake in a time or a setting does not end all nodes at once.
// It may be lost: then the bound begins anew.
type pace struct {
	mu sync.Mutex
	// deleted are the times of deletions within window, oldest first.
	deleted []time.Time
}

// take records a deletion, or returns how long to wait for the next one. staying is the number of claims that are not being
// deleted.
func (p *pace) take(now time.Time, staying int) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.deleted) > 0 && now.Sub(p.deleted[0]) >= window {
		p.deleted = p.deleted[1:]
	}
	// The claims that were deleted lately count, so that the bound does not shrink with them.
	if most := max(few, int(share*float64(staying+len(p.deleted)))); len(p.deleted) >= most {
		return p.deleted[0].Add(window).Sub(now)
	}
	p.deleted = append(p.deleted, now)
	return 0
}
