package launchbackoff

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// FirstWait is the wait after the first unused launch. Each further wait is twice the one before, up to
	// LongestWait.
	FirstWait   = 10 * time.Second
	LongestWait = 5 * time.Minute
	// settleTime is how long a pod must run on a node that is not being removed until its history is dropped.
	settleTime = time.Minute
	// retention is how long the history of a deleted pod is kept for a pod of the same owner.
	retention = 2 * LongestWait
)

// WaitAfter returns the wait after this number of unused launches in a row.
func WaitAfter(unused int) time.Duration {
	if unused <= 0 {
		return 0
	}
	return min(FirstWait<<min(unused-1, 10), LongestWait)
}

// A State is the histories of launches for pods. It is immutable; the zero State is empty.
type State struct {
	// histories are the histories of existing pods, by UID.
	histories map[types.UID]history
	// orphaned are the histories of deleted pods, by the UID of their owner, ordered by goneAt and key.
	orphaned map[types.UID][]history
}

// A history has the facts about earlier launches for one pod on which the next launch depends.
type history struct {
	// key is the pod's namespace/name. pod is the pod object, whose spec has not changed since the last launch.
	key string
	pod *corev1.Pod
	// claim is the name of the last launched claim while its outcome is unknown, else empty. pool is its pool at that
	// time.
	claim string
	pool  *model.Pool
	// emptied is true if the claim's node was removed as empty while the pod was pending.
	emptied bool
	// taint is a taint of the claim's node that the pod does not tolerate, empty if there is none.
	taint string
	// inherited is true if the claim was launched for another pod, which may have run there.
	inherited bool
	// boundSince is since when the pod has been bound to a node that is not being removed; zero if it is not.
	boundSince time.Time
	// last is the last unused launch. It has no Times if there was none.
	last Finding
	// goneAt is when the pod was found deleted.
	goneAt time.Time
}

// A Launch is a claim that was created for pods.
type Launch struct {
	Claim string
	Pool  *model.Pool
	Pods  []*model.Pod
}

// Launched returns st with each launch as the last launch of its pods. Their wait and count of unused launches are kept.
func Launched(st State, launches ...Launch) State {
	next := State{histories: maps.Clone(st.histories), orphaned: st.orphaned}
	if next.histories == nil {
		next.histories = map[types.UID]history{}
	}
	for _, l := range launches {
		for _, p := range l.Pods {
			last := next.histories[p.UID].last
			next.histories[p.UID] = history{key: p.Key, pod: p.Object, claim: l.Claim, pool: l.Pool, last: last}
		}
	}
	return next
}

// NextLaunch returns the earliest time at which a waiting pod may have another launch, zero if no pod waits.
func NextLaunch(st State, now time.Time) (next time.Time) {
	for _, h := range st.histories {
		if until := h.last.Until; until.After(now) && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return next
}
