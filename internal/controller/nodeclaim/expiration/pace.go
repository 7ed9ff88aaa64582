package expiration

import (
	"slices"
	"sync"
	"time"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
)

// window is the time within which at most status.MostExpiring claims are deleted because of expiry.
const window = 10 * time.Minute

// A pace limits the number of claims that are deleted within window, so that a wrong clock or setting does not delete all nodes
// at once. If it is lost, the count starts again with the expired claims that are still being deleted.
type pace struct {
	mu     sync.Mutex
	seeded bool // whether deletions before the start of the process are in deleted
	// deleted are the times of deletions within window, oldest first.
	deleted []time.Time
}

// take records a deletion, or returns how long to wait for the next one. staying is the number of claims that are not being
// deleted. leaving are the times since when expired claims are being deleted. Only the first call reads leaving.
func (p *pace) take(now time.Time, staying int, leaving []time.Time) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.seeded {
		p.seeded = true
		p.deleted = slices.SortedFunc(slices.Values(leaving), time.Time.Compare)
	}
	for len(p.deleted) > 0 && now.Sub(p.deleted[0]) >= window {
		p.deleted = p.deleted[1:]
	}
	// The recently deleted claims are included, so that the limit does not shrink with each deletion.
	if most := status.MostExpiring(staying + len(p.deleted)); len(p.deleted) >= most {
		return p.deleted[0].Add(window).Sub(now)
	}
	p.deleted = append(p.deleted, now)
	return 0
}
