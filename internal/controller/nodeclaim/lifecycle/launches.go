package lifecycle

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/cloud"
)

// launches remembers, for each claim, what the cache may not show yet: a launch that runs, its answer, and that the
// claim was given up. The zero value is ready to use.
type launches struct {
	mu     sync.Mutex // guards byName
	byName map[string]*launchState
}

type launchState struct {
	uid      types.UID
	cancel   context.CancelFunc // set while Create runs
	instance *cloud.Instance    // what Create gave
	givenUp  bool               // the claim was deleted by us
}

// of returns the state of exactly this claim; the caller holds mu.
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

// begin returns the instance if the claim was launched already, else it notes how to call the launch off.
func (l *launches) begin(name string, uid types.UID, cancel context.CancelFunc) *cloud.Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(name, uid)
	if s.instance == nil {
		s.cancel = cancel
	}
	return s.instance
}

// end notes the answer of a launch, nil if it failed.
func (l *launches) end(name string, uid types.UID, instance *cloud.Instance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(name, uid)
	s.cancel, s.instance = nil, instance
}

// cancel calls the launch of the claim off if one runs.
func (l *launches) cancel(name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.byName[name]; s != nil && s.uid == uid && s.cancel != nil {
		s.cancel()
	}
}

// giveUp notes that the claim was deleted by us, so that a stale copy of it is not launched once more.
func (l *launches) giveUp(name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(name, uid).givenUp = true
}

// recall returns what is known of exactly this claim.
func (l *launches) recall(name string, uid types.UID) launchState {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.byName[name]; s != nil && s.uid == uid {
		return *s
	}
	return launchState{}
}

// forget drops what is known of a claim, once the cache shows it.
func (l *launches) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byName, name)
}
