package lifecycle

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/cloud"
)

// launches stores, for each claim, data that may not be in the cache yet: a running launch, its result, and whether this
// controller deleted the claim. The zero value is ready to use.
type launches struct {
	mu     sync.Mutex // guards byName
	byName map[string]*launchState
}

type launchState struct {
	uid      types.UID
	cancel   context.CancelFunc // set while Create runs
	instance *cloud.Instance    // result of Create
	givenUp  bool               // this controller deleted the claim
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

// end stores the result of a launch, nil if it failed.
func (l *launches) end(name string, uid types.UID, instance *cloud.Instance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(name, uid)
	s.cancel, s.instance = nil, instance
}

// cancel cancels the running launch of the claim, if there is one.
func (l *launches) cancel(name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.byName[name]; s != nil && s.uid == uid && s.cancel != nil {
		s.cancel()
	}
}

// giveUp records that this controller deleted the claim, so that an outdated copy in the cache is not launched again.
func (l *launches) giveUp(name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(name, uid).givenUp = true
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
