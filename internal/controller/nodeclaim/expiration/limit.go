package expiration

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
)

// window is the time within which at most status.MostExpiring claims are deleted because of expiry.
const window = 10 * time.Minute

// A deletionLimit limits the number of claims that are deleted within window, so that a wrong clock or setting does not delete
// all nodes at once. If it is lost, the count starts again with the expired claims that are still being deleted.
type deletionLimit struct {
	mu     sync.Mutex
	seeded bool // whether deletions before the start of the process are in deleted
	// deleted are the deletions within window, oldest first.
	deleted []deletion
}

// A deletion is the first attempt to delete a claim, or the deletion itself if an earlier process made it.
type deletion struct {
	claim types.UID
	at    time.Time
}

// take records the deletion of a claim, or returns how long to wait for it. A deletion that failed is taken again and counts
// once, so that an API server that refuses deletions does not use up the limit. staying is the number of claims that are not
// being deleted. leaving has the expired claims that are being deleted. Only the first call reads it.
func (l *deletionLimit) take(claim types.UID, now time.Time, staying int, leaving []deletion) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.seeded {
		l.seeded = true
		l.deleted = slices.SortedFunc(slices.Values(leaving), func(a, b deletion) int { return a.at.Compare(b.at) })
	}
	for len(l.deleted) > 0 && now.Sub(l.deleted[0].at) >= window {
		l.deleted = l.deleted[1:]
	}
	if slices.ContainsFunc(l.deleted, func(d deletion) bool { return d.claim == claim }) {
		return 0
	}
	// The recently deleted claims are included, so that the limit does not shrink with each deletion.
	if most := status.MostExpiring(staying + len(l.deleted)); len(l.deleted) >= most {
		return l.deleted[0].at.Add(window).Sub(now)
	}
	l.deleted = append(l.deleted, deletion{claim, now})
	return 0
}
