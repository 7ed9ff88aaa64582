package termination

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// backoffBase and backoffMax bound the backoff after a PodDisruptionBudget refused an eviction. believeFor is the time in which
// an accepted eviction is not requested again.
const (
	backoffBase = 100 * time.Millisecond
	backoffMax  = 10 * time.Second
	believeFor  = 10 * time.Second
)

// attempts stores the API server's responses to recent evictions. If it is lost, the evictions are requested once more.
// The zero value is ready to use.
type attempts struct {
	mu     sync.Mutex                              // guards byNode
	byNode map[types.UID]map[types.UID]*podAttempt // node, pod
}

// podAttempt has the results of evictions of one pod.
type podAttempt struct {
	refusals int         // number of consecutive refusals
	retry    time.Time   // time of the next attempt after the last refusal
	refused  *corev1.Pod // the pod at the last refusal; must not be changed
	node     string      // name of the pod's node
	why      string      // message of the last refusal
	believed time.Time   // no new request until this time after an acceptance
	forced   bool        // true after the pod was deleted by force, with an event
}

// of returns two times for each pod of the node with an entry, by UID. refused is the time of the next attempt after a
// refused eviction. accepted is the time until which an accepted eviction is not repeated. A zero time means that there is
// none.
func (a *attempts) of(node types.UID) (refused, accepted map[types.UID]time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	refused, accepted = map[types.UID]time.Time{}, map[types.UID]time.Time{}
	for uid, p := range a.byNode[node] {
		refused[uid], accepted[uid] = p.retry, p.believed
	}
	return refused, accepted
}

// refuse records that the eviction of the pod was refused and returns the time of the next attempt: 100 ms later,
// doubling up to 10 s.
func (a *attempts) refuse(node *corev1.Node, pod *corev1.Pod, why string, now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pod(node.UID, pod.UID)
	p.refused, p.node, p.why = pod, node.Name, why
	delay := backoffMax
	if p.refusals < 7 { // 100 ms doubled seven times exceeds 10 s
		delay = backoffBase << p.refusals
	}
	p.refusals++
	p.retry = now.Add(delay)
	return p.retry
}

// why returns the message of the last refusal for a pod, "" if there was none.
func (a *attempts) why(node, pod types.UID) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.byNode[node][pod]; p != nil {
		return p.why
	}
	return ""
}

// reopen ends the current backoff of the refused pods that match, and returns the names of their nodes in alphabetical order. The
// next refusal doubles the delay further, so that a PodDisruptionBudget that changes often does not cause many requests.
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

// accept records that the eviction of the pod was accepted, and forgets its refusals.
func (a *attempts) accept(node, pod types.UID, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*a.pod(node, pod) = podAttempt{believed: now.Add(believeFor)}
}

// force records that the pod was deleted by force and reports whether this is the first time.
func (a *attempts) force(node, pod types.UID) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pod(node, pod)
	first = !p.forced
	p.forced = true
	return first
}

// forget removes the entries of the node's pods.
func (a *attempts) forget(node types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byNode, node)
}

// pod returns the entry of the pod, and creates it if it does not exist. The caller holds mu.
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
