package observe

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A backlog has the pods that kube-scheduler has not tried yet. Some of them are treated as unschedulable nevertheless.
//
// kube-scheduler tries one pod after another, tens or hundreds per second. Of a thousand new pods, the last one gets the
// condition unschedulable only after many seconds. If plans contained only pods with that condition, there would be many
// small plans, which cost more. So when one pod of a ReplicaSet, StatefulSet or Job is unschedulable, the other untried
// pods of that owner are treated as unschedulable, too. So is a pod of the default scheduler that has not been tried for
// overdueAfter, once any other pod is unschedulable (see Foretell). If such a pod fits on an existing node, the plan places
// it there and launches nothing for it.
type backlog struct {
	// unjudged are the pods, by key, that kube-scheduler has not tried and that are not in told. seen is when each pending
	// pod was first observed, by UID.
	unjudged map[string]*corev1.Pod
	seen     map[types.UID]time.Time
	// told are the pods, by UID, that are treated as unschedulable although kube-scheduler has not tried them.
	told map[types.UID]bool
	// refused has, by owner, the UIDs of the pods that kube-scheduler found unschedulable. siblings has, by owner, the keys of
	// unjudged pods.
	refused  map[types.UID]map[types.UID]bool
	siblings map[types.UID]map[string]bool
}

func newBacklog() backlog {
	return backlog{
		unjudged: map[string]*corev1.Pod{}, seen: map[types.UID]time.Time{}, told: map[types.UID]bool{},
		refused: map[types.UID]map[types.UID]bool{}, siblings: map[types.UID]map[string]bool{},
	}
}

// take records the state of o. It returns the pod for Snapshots, and copies of other pods of the same owner that are
// now treated as unschedulable.
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

// tell returns a copy of the pod with the condition unschedulable, and records the pod in told. It does not change the given
// object, which is shared.
func (b *backlog) tell(o *corev1.Pod) *corev1.Pod {
	first := b.seen[o.UID]
	b.gone(o)
	b.seen[o.UID], b.told[o.UID] = first, true
	p := *o
	p.Status.Conditions = append(slices.Clip(o.Status.Conditions), corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "kube-scheduler has not tried the pod yet; equal pods are unschedulable",
	})
	return &p
}

// gone removes all entries of a pod.
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

// overdue marks the pods of the default scheduler that were first observed at least age ago and have not been tried. It
// returns the marked copies. Pods of other schedulers are not marked, because such a scheduler may delay a pod on purpose.
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

// alike has the kinds of owners whose pods have the same template, except during a rolling update of a StatefulSet. Pods of
// an owner of another kind may differ.
var alike = []string{"ReplicaSet", "StatefulSet", "Job"}

func ownerOf(o *corev1.Pod) (types.UID, bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil || !slices.Contains(alike, owner.Kind) {
		return "", false
	}
	return owner.UID, true
}

// overdueAfter is the time after which a pod that kube-scheduler has not tried is treated as unschedulable.
const overdueAfter = 500 * time.Millisecond

// Backlog describes the pods that the default scheduler has not tried and that are not yet treated as unschedulable. first
// and latest are when the oldest and the newest of them were first observed, zero if there are none. behind is true if one
// of them was first observed at least overdueAfter ago.
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

// Foretell marks overdue pods as unschedulable if there are other unschedulable pods. It is called when a round of
// provisioning begins. Unjudged pods alone do not start a round, because kube-scheduler may bind them in a moment.
func (c *Cluster) Foretell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return
	}
	for _, p := range c.backlog.overdue(overdueAfter, c.clock.Now()) {
		ref := model.Ref{Kind: model.KindPod, Key: keyOf(p)}
		c.edits.Add(1)
		c.changed[ref] = p
		c.note(p)
	}
}

func keyOf(o *corev1.Pod) string { return o.Namespace + "/" + o.Name }
