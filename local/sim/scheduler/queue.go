package scheduler

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const (
	// firstBackoff is how long a pod waits after an error. The wait doubles with each further error, up to longestBackoff.
	firstBackoff, longestBackoff = time.Second, 10 * time.Second
	// flushAfter is how long a rejected pod waits for the next attempt if no event makes it ready before.
	flushAfter = 5 * time.Minute
)

// An entry is a pod without a node that the scheduler is responsible for.
type entry struct {
	pod *corev1.Pod
	// info is pod as the filters need it, nil until it is needed.
	info fwk.PodInfo
	// ready is true if the pod must be tried immediately. Otherwise it is tried at the time retry.
	ready bool
	retry time.Time
	// rejectors are the plugins that rejected the pod. If there are none, any event makes the pod ready.
	rejectors sets.Set[string]
	// failures is how many attempts in a row have ended with an error.
	failures int
	// waiting is set while a node is chosen and the PersistentVolumeClaims of the pod are not bound.
	waiting *wait
}

// due reports whether an attempt for the pod is due at now.
func (e *entry) due(now time.Time) bool { return e.eligible() && (e.ready || !now.Before(e.retry)) }

// eligible reports whether the pod may be tried at all.
func (e *entry) eligible() bool {
	return e.waiting == nil && e.pod.DeletionTimestamp == nil && len(e.pod.Spec.SchedulingGates) == 0
}

// rejected records that plugins rejected the pod.
func (e *entry) rejected(rejectors sets.Set[string], now time.Time) {
	e.ready, e.retry, e.rejectors, e.failures = false, now.Add(flushAfter), rejectors, 0
}

// failed records that an attempt ended with an error.
func (e *entry) failed(now time.Time) {
	backoff := min(firstBackoff<<min(e.failures, 10), longestBackoff)
	e.ready, e.retry, e.failures = false, now.Add(backoff), e.failures+1
}

// compare orders entries as kube-scheduler's queue does: by descending priority, then the oldest first. Equal ones are
// ordered by name.
func compare(a, b *entry) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(b.pod), corev1helpers.PodPriority(a.pod)),
		a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time),
		strings.Compare(a.pod.Namespace, b.pod.Namespace),
		strings.Compare(a.pod.Name, b.pod.Name),
	)
}

// A queue holds the entries. It implements fwk.PodNominator.
type queue struct {
	entries map[types.UID]*entry
	// nominated are the eligible entries by the node of their nomination.
	nominated map[string]map[types.UID]*entry
}

func newQueue() *queue {
	return &queue{entries: map[types.UID]*entry{}, nominated: map[string]map[types.UID]*entry{}}
}

// put adds a pod or replaces an older version of it.
func (q *queue) put(pod *corev1.Pod) *entry {
	e := q.entries[pod.UID]
	if e == nil {
		e = &entry{ready: true}
		q.entries[pod.UID] = e
	} else {
		q.denominate(e)
	}
	e.pod, e.info = pod, nil
	q.nominate(e)
	return e
}

// drop removes a pod.
func (q *queue) drop(uid types.UID) {
	if e := q.entries[uid]; e != nil {
		q.denominate(e)
		delete(q.entries, uid)
	}
}

// nominate adds an entry to the index of nominations.
func (q *queue) nominate(e *entry) {
	node := e.pod.Status.NominatedNodeName
	if node == "" || !e.eligible() {
		return
	}
	if q.nominated[node] == nil {
		q.nominated[node] = map[types.UID]*entry{}
	}
	q.nominated[node][e.pod.UID] = e
}

// denominate removes an entry from the index of nominations.
func (q *queue) denominate(e *entry) {
	node := e.pod.Status.NominatedNodeName
	delete(q.nominated[node], e.pod.UID)
	if len(q.nominated[node]) == 0 {
		delete(q.nominated, node)
	}
}

// due returns the entries whose next attempt is due at now, in the order of compare.
func (q *queue) due(now time.Time) []*entry {
	var due []*entry
	for _, e := range q.entries {
		if e.due(now) {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, compare)
	return due
}

// next returns when the first entry is to be tried, the zero time if none is.
func (q *queue) next() time.Time {
	var next time.Time
	for _, e := range q.entries {
		if e.eligible() {
			next = earlier(next, e.retry)
		}
	}
	return next
}

// earlier returns the earlier of two times, where the zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// happened makes entries ready after an event. An entry becomes ready if its last attempt did not end with an error, the
// priority of its pod is at most `most`, and no plugin rejected the pod, or the hint of one that did says that the event may
// make the pod schedulable.
func (q *queue) happened(hints []hint, event fwk.ClusterEvent, before, after any, most int32) {
	var matching []hint
	for _, h := range hints {
		if framework.MatchClusterEvents(h.event, event) {
			matching = append(matching, h)
		}
	}
	for _, e := range q.entries {
		if !e.ready && e.failures == 0 && corev1helpers.PodPriority(e.pod) <= most {
			e.ready = e.rejectors.Len() == 0 || slices.ContainsFunc(matching, func(h hint) bool { return h.helps(e, before, after) })
		}
	}
}

// helps reports whether the plugin rejected the pod and the event may change that.
func (h hint) helps(e *entry, before, after any) bool {
	if !e.rejectors.Has(h.plugin) {
		return false
	}
	if h.fn == nil {
		return true
	}
	answer, err := h.fn(klog.Logger{}, e.pod, before, after)
	return err != nil || answer == fwk.Queue
}

// NominatedPodsForNode implements fwk.PodNominator. The pods are in the order of compare.
func (q *queue) NominatedPodsForNode(node string) []fwk.PodInfo {
	if len(q.nominated[node]) == 0 {
		return nil
	}
	var entries []*entry
	for _, e := range q.nominated[node] {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, compare)
	infos := make([]fwk.PodInfo, 0, len(entries))
	for _, e := range entries {
		if e.info == nil {
			// As in kube-scheduler, a pod with an invalid affinity term counts without that term.
			e.info, _ = framework.NewPodInfo(e.pod)
		}
		infos = append(infos, e.info)
	}
	return infos
}

// AddNominatedPod implements fwk.PodNominator. Nominations are read from the pods alone.
func (q *queue) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}

// DeleteNominatedPodIfExists implements fwk.PodNominator.
func (q *queue) DeleteNominatedPodIfExists(*corev1.Pod) {}

// UpdateNominatedPod implements fwk.PodNominator.
func (q *queue) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo) {}
