package lifecycle

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/cloud"
)

// launches stores, for each claim, data that may not be in the cache yet: a running launch, its result, and whether this
// controller deleted the claim. The zero value is ready to use.
type launches struct {
	mu     sync.Mutex // guards byName
	byName map[string]*launchState
}

// A launchState has the launches of one claim.
type launchState struct {
	uid      types.UID
	cancel   context.CancelFunc // set while Create runs
	instance *cloud.Instance    // result of Create
	deleted  bool               // this controller deleted the claim
	// failures counts the failed calls of Create since the last one that succeeded. failed is when the last of them ended.
	failures int
	failed   time.Time
}

// The delay before a failed launch is repeated: it begins at retryBase, doubles with every failure and ends at retryMax.
const (
	retryBase = time.Second
	retryMax  = time.Minute
)

// retryDelay returns how long the claim must not be launched because its last launch failed, zero if it may be launched now. The
// rate limiter of the controller is not enough, because a provider may write to the claim at each launch, and each change of a
// claim is a new request.
func (s launchState) retryDelay(now time.Time) time.Duration {
	if s.failures == 0 {
		return 0
	}
	delay := min(retryBase<<min(s.failures-1, 6), retryMax)              // the sixth doubling already exceeds retryMax
	if left := s.failed.Add(delay).Sub(now); left > 0 && left <= delay { // a longer time means that the clock was put back
		return left
	}
	return 0
}

// of returns the state of the claim with this name and UID; the caller holds mu.
func (l *launches) of(name string, uid types.UID) *launchState {
	s := l.byName[name]
	if s == nil || s.uid != uid {
		s = &launchState{uid: uid}
		if l.byName == nil {
			l.byName = map[string]*launchState{}
		}
		l.byName[name] = s
	}
	return s
}

// begin returns the instance of an earlier launch of the claim. If there is none, it stores cancel, which cancels the new launch.
func (l *launches) begin(name string, uid types.UID, cancel context.CancelFunc) *cloud.Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(name, uid)
	if s.instance == nil {
		s.cancel = cancel
	}
	return s.instance
}

// end stores the result of a launch that ended now, nil if it failed.
func (l *launches) end(name string, uid types.UID, instance *cloud.Instance, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(name, uid)
	s.cancel, s.instance = nil, instance
	if instance == nil {
		s.failures, s.failed = s.failures+1, now
	} else {
		s.failures = 0
	}
}

// cancel cancels the running launch of the claim, if there is one.
func (l *launches) cancel(name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.byName[name]; s != nil && s.uid == uid && s.cancel != nil {
		s.cancel()
	}
}

// recordDeletion records that this controller deleted the claim, so that an outdated copy in the cache is not launched again.
func (l *launches) recordDeletion(name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(name, uid).deleted = true
}

// recall returns a copy of the state of the claim with this name and UID.
func (l *launches) recall(name string, uid types.UID) launchState {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.byName[name]; s != nil && s.uid == uid {
		return *s
	}
	return launchState{}
}

// forget removes the state of a claim. It is called when the cache has that state, or when the claim no longer exists.
func (l *launches) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byName, name)
}
