package termination

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Back-off of an eviction that a disruption budget refused, and how long an accepted one is believed.
const (
	backoffBase = 100 * time.Millisecond
	backoffMax  = 10 * time.Second
	believeFor  = 10 * time.Second
)

// attempts remembers what the API server said to recent evictions. It may be lost: the pods are then asked for once more.
// The zero value is ready to use.
type attempts struct {
	mu     sync.Mutex                              // guards byNode
	byNode map[types.UID]map[types.UID]*podAttempt // node, pod
}

// podAttempt is what happened to one pod.
type podAttempt struct {
	refusals int         // in a row
	retry    time.Time   // after the last refusal
	refused  *corev1.Pod // the pod of the last refusal; only read
	node     string      // the name of its node
	why      string      // the last refusal in words
	believed time.Time   // after an acceptance
	forced   bool        // deleted by force, with an event
}

// of returns which pods of the node were refused and until when, and which were accepted.
func (a *attempts) of(node types.UID) (refused, accepted map[types.UID]time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	refused, accepted = map[types.UID]time.Time{}, map[types.UID]time.Time{}
	for uid, p := range a.byNode[node] {
		refused[uid], accepted[uid] = p.retry, p.believed
	}
	return refused, accepted
}

// refuse notes that the eviction of the pod was refused and returns when to try again: 100 ms later, doubling to 10 s.
func (a *attempts) refuse(node *corev1.Node, pod *corev1.Pod, why string, now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pod(node.UID, pod.UID)
	p.refused, p.node, p.why = pod, node.Name, why
	delay := backoffMax
	if p.refusals < 7 { // 100 ms doubled seven times is more than 10 s
		delay = backoffBase << p.refusals
	}
	p.refusals++
	p.retry = now.Add(delay)
	return p.retry
}

// why returns the last refusal of a pod in words, "" if there was none.
func (a *attempts) why(node, pod types.UID) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.byNode[node][pod]; p != nil {
		return p.why
	}
	return ""
}

// reopen ends the back-off of the refused pods that match, and returns the names of their nodes. The next refusal goes on
// with the back-off where it was, so that a budget that keeps changing is not asked more and more often.
func (a *attempts) reopen(match func(*corev1.Pod) bool) (nodes []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, pods := range a.byNode {
		for _, p := range pods {
			if p.refused != nil && match(p.refused) {
				p.retry = time.Time{}
				nodes = append(nodes, p.node)
			}
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// accept notes that the eviction of the pod was accepted.
func (a *attempts) accept(node, pod types.UID, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*a.pod(node, pod) = podAttempt{believed: now.Add(believeFor)}
}

// force notes that the pod was deleted by force and reports whether that is the first time.
func (a *attempts) force(node, pod types.UID) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pod(node, pod)
	first = !p.forced
	p.forced = true
	return first
}

// forget drops all that is known of the node's pods.
func (a *attempts) forget(node types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byNode, node)
}

// pod returns the entry of the pod, a new one if need be. The caller holds mu.
func (a *attempts) pod(node, pod types.UID) *podAttempt {
	if a.byNode == nil {
		a.byNode = map[types.UID]map[types.UID]*podAttempt{}
	}
	if a.byNode[node] == nil {
		a.byNode[node] = map[types.UID]*podAttempt{}
	}
	if a.byNode[node][pod] == nil {
		a.byNode[node][pod] = &podAttempt{}
	}
	return a.byNode[node][pod]
}
