package launchbackoff

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// FirstWait is the wait after the first unused launch, LongestWait the longest one. Each is twice the one before.
	FirstWait   = 10 * time.Second
	LongestWait = 5 * time.Minute
	// settleTime is how long a pod runs on a node that stays until its history is dropped.
	settleTime = time.Minute
	// retention is how long the history of a pod that is gone is kept for a pod of the same owner.
	retention = 2 * LongestWait
)

// WaitAfter returns how long to wait after so many unused launches in a row.
func WaitAfter(unused int) time.Duration {
	if unused <= 0 {
		return 0
	}
	wait := FirstWait
	for ; unused > 1 && wait < LongestWait; unused-- {
		wait *= 2
	}
	return min(wait, LongestWait)
}

// A State is what is known of the launches for pods. It is never changed: each function returns a new one. The zero State is
// empty.
type State struct {
	// histories are those of pods that exist, by UID.
	histories map[types.UID]history
	// orphaned are those of pods that are gone, by the UID of their owner, in the order in which they went, then by key.
	orphaned map[types.UID][]history
}

// A history is what is known of the launches for one pod.
type history struct {
	// key is the pod's, pod its object when the last launch was made for it.
	key string
	pod *corev1.Pod
	// claim is the last launch whose outcome is not decided yet, empty for none. pool is the pool that made it, as it was.
	claim string
	pool  *model.Pool
	// emptied says that the claim's node was removed for being empty while the pod was pending.
	emptied bool
	// taint is the one by which the claim's node was seen to keep the pod away, empty for none.
	taint string
	// inherited says that the claim was made for another pod, which may have run there.
	inherited bool
	// boundSince is since when the pod has been bound to a node that stays; zero while it is not.
	boundSince time.Time
	// unused is how many launches in a row were of no use, reason what was wrong with the last node.
	unused int
	reason string
	// waitUntil is the earliest time of the next launch.
	waitUntil time.Time
	// goneAt is when the pod was found to be gone.
	goneAt time.Time
}

// A Launch is a claim that was made for pods.
type Launch struct {
	Claim string
	Pool  *model.Pool
	Pods  []*model.Pod
}

// Launched returns st after these launches.
func Launched(st State, launches ...Launch) State {
	next := State{histories: maps.Clone(st.histories), orphaned: st.orphaned}
	if next.histories == nil {
		next.histories = map[types.UID]history{}
	}
	for _, l := range launches {
		for _, p := range l.Pods {
			was := next.histories[p.UID]
			next.histories[p.UID] = history{
				key: p.Key, pod: p.Object, claim: l.Claim, pool: l.Pool,
				unused: was.unused, reason: was.reason, waitUntil: was.waitUntil,
			}
		}
	}
	return next
}

// NextLaunch returns when the first of the pods that wait may have another launch; zero if none waits.
func NextLaunch(st State, now time.Time) (next time.Time) {
	for _, h := range st.histories {
		if h.waitUntil.After(now) && (next.IsZero() || h.waitUntil.Before(next)) {
			next = h.waitUntil
		}
	}
	return next
}
