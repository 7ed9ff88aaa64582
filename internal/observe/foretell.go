package observe

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A backlog is the pods that the scheduler has not looked at yet, and what is known of them all the same.
//
// It judges one pod after the other, some tens or hundreds a second. Of a thousand pods that come at once the last is told
// after many seconds that it does not fit, and who plans only for those that were told plans for a few at a time, and worse. So
// what the scheduler said of one pod of a ReplicaSet counts for the others; and a pod that has waited for its verdict while others
// got theirs waits for a node like them. If there is room for one of them after all the plan puts it there, and launches
// nothing for it.
type backlog struct {
	// unjudged are the pods that nothing is known of, by key; seen is when a pod that waits was first seen, by UID.
	unjudged map[string]*corev1.Pod
	seen     map[types.UID]time.Time
	// told are the pods, by UID, that count as refused before they are.
	told map[types.UID]bool
	// refused are the pods that were, by owner; siblings are the keys of unjudged ones, by owner.
	refused  map[types.UID]map[types.UID]bool
	siblings map[types.UID]map[string]bool
}

func newBacklog() backlog {
	return backlog{
		unjudged: map[string]*corev1.Pod{}, seen: map[types.UID]time.Time{}, told: map[types.UID]bool{},
		refused: map[types.UID]map[types.UID]bool{}, siblings: map[types.UID]map[string]bool{},
	}
}

// take notes what o says now, and returns how the pod is to be seen, and its siblings that are seen otherwise from now on.
func (b *backlog) take(o *corev1.Pod, now time.Time) (seen *corev1.Pod, siblings []*corev1.Pod) {
	p := model.Pod{Object: o}
	first, known := b.seen[o.UID]
	if !known {
		first = now
	}
	told := b.told[o.UID]
	b.gone(o)
	owner, alike := ownerOf(o)
	switch {
	case p.Provisionable():
		b.seen[o.UID] = first
		if !alike {
			return o, nil
		}
		add(b.refused, owner, o.UID)
		for k := range b.siblings[owner] {
			siblings = append(siblings, b.tell(b.unjudged[k]))
		}
		return o, siblings
	case !p.Unjudged():
		return o, nil
	}
	b.seen[o.UID] = first
	if told || alike && len(b.refused[owner]) > 0 {
		return b.tell(o), nil
	}
	b.unjudged[keyOf(o)] = o
	if alike {
		add(b.siblings, owner, keyOf(o))
	}
	return o, nil
}

// tell returns the pod as the scheduler will have judged it, and remembers that. The object that was seen is shared, and stays
// as it is.
func (b *backlog) tell(o *corev1.Pod) *corev1.Pod {
	first := b.seen[o.UID]
	b.gone(o)
	b.seen[o.UID], b.told[o.UID] = first, true
	p := *o
	p.Status.Conditions = append(slices.Clip(o.Status.Conditions), corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "like others that wait",
	})
	return &p
}

// gone forgets a pod.
func (b *backlog) gone(o *corev1.Pod) {
	delete(b.unjudged, keyOf(o))
	delete(b.seen, o.UID)
	delete(b.told, o.UID)
	if owner, ok := ownerOf(o); ok {
		drop(b.refused, owner, o.UID)
		drop(b.siblings, owner, keyOf(o))
	}
}

func add[K comparable](m map[types.UID]map[K]bool, owner types.UID, k K) {
	if m[owner] == nil {
		m[owner] = map[K]bool{}
	}
	m[owner][k] = true
}

func drop[K comparable](m map[types.UID]map[K]bool, owner types.UID, k K) {
	if delete(m[owner], k); len(m[owner]) == 0 {
		delete(m, owner)
	}
}

// overdue returns the pods of the scheduler's backlog as it will have judged them: those that have waited for so long for
// its verdict. Other schedulers may have their reasons to keep a pod waiting.
func (b *backlog) overdue(age time.Duration, now time.Time) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range b.unjudged {
		if model.ByDefault(o) && now.Sub(b.seen[o.UID]) >= age {
			pods = append(pods, o)
		}
	}
	for i, o := range pods {
		pods[i] = b.tell(o)
	}
	return pods
}

// alike are the kinds of owners whose pods are made of one template. Others may make a different pod each time.
var alike = []string{"ReplicaSet", "StatefulSet", "Job"}

func ownerOf(o *corev1.Pod) (types.UID, bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil || !slices.Contains(alike, owner.Kind) {
		return "", false
	}
	return owner.UID, true
}

// overdueAfter is how long a pod may wait for its first verdict before it counts as refused like others.
const overdueAfter = 500 * time.Millisecond

// Backlog returns when the first and the latest of the pods came that the scheduler has not looked at, and whether it is behind:
// pods that it is just about to bind are none.
func (c *Cluster) Backlog() (first, latest time.Time, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for _, o := range c.backlog.unjudged {
		if !model.ByDefault(o) {
			continue
		}
		since := c.backlog.seen[o.UID]
		if first.IsZero() || since.Before(first) {
			first = since
		}
		behind = behind || now.Sub(since) >= overdueAfter
		if since.After(latest) {
			latest = since
		}
	}
	return first, latest, behind
}

// Foretell has pods that the scheduler keeps waiting for its verdict count as refused, if it has refused others. It is for
// the beginning of a round: pods that the scheduler is just about to bind make none begin.
func (c *Cluster) Foretell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return
	}
	for _, p := range c.backlog.overdue(overdueAfter, c.clock.Now()) {
		ref := model.Ref{Kind: model.KindPod, Key: keyOf(p)}
		c.changed[ref] = p
		c.note(p)
	}
}

func keyOf(o *corev1.Pod) string { return o.Namespace + "/" + o.Name }
