package nominate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// tallied is the largest number of pods in a tally: those of the scheduler that were bound most recently.
	tallied = 50
	// conclusive is the least number of pods in a tally from which Ignores concludes that a scheduler ignores nominations.
	conclusive = 20
)

// Outcomes has, by scheduler, where the last nominated pods were bound. It is immutable, and the zero value is empty. If
// it is lost, it is complete again after 50 pods of each scheduler.
type Outcomes struct {
	// waiting are the pending pods with a nomination by this program, by key.
	waiting map[string]waiting
	// last are the outcomes by scheduler, the latest last: true for a pod that was bound to its nominated node.
	last map[string][]bool
}

// A waiting pod has a nomination by this program and is not bound.
type waiting struct {
	uid  types.UID
	node string
}

// An Outcome says whether a nominated pod was bound to its nominated node. Followed is false if the pod was bound to
// another node although the nominated one accepted pods.
type Outcome struct {
	Scheduler string
	Followed  bool
}

// A Tally is how many of the last nominated pods of a scheduler were bound, and how many of these not to the nominated
// node.
type Tally struct{ Bound, Elsewhere int }

// Ignores reports whether most pods were bound elsewhere, so that plans cannot rely on nominations. It is false for a tally
// with fewer than conclusive pods.
func (t Tally) Ignores() bool { return t.Bound >= conclusive && 2*t.Elsewhere > t.Bound }

// Of returns the tally of a scheduler.
func (o Outcomes) Of(scheduler string) Tally {
	t := Tally{Bound: len(o.last[scheduler])}
	for _, followed := range o.last[scheduler] {
		if !followed {
			t.Elsewhere++
		}
	}
	return t
}

// Observe returns o updated by the snapshot, and the outcomes of the nominated pods that were bound since the last snapshot,
// in the order of their keys. A pod that was bound elsewhere while its nominated node did not accept pods has no outcome.
func (o Outcomes) Observe(s *model.Snapshot) (Outcomes, []Outcome) {
	next := Outcomes{waiting: map[string]waiting{}, last: map[string][]bool{}}
	var fresh []Outcome
	for _, key := range slices.Sorted(maps.Keys(o.waiting)) {
		w := o.waiting[key]
		p, ok := s.Pods.Get(key)
		switch {
		case !ok || p.UID != w.uid:
		case !p.Bound():
			next.waiting[key] = w // kube-scheduler may have cleared the nomination for now
		case p.Object.Spec.NodeName == w.node:
			fresh = append(fresh, Outcome{Scheduler: SchedulerOf(p), Followed: true})
		case openSince(s, w.node, boundAt(p.Object)):
			fresh = append(fresh, Outcome{Scheduler: SchedulerOf(p)})
		}
	}
	for _, p := range s.Pending() {
		if name := p.Object.Status.NominatedNodeName; !p.Virtual() && name != "" && isOwn(p.Object) {
			next.waiting[p.Key] = waiting{uid: p.UID, node: name}
		}
	}
	maps.Copy(next.last, o.last)
	for _, f := range fresh {
		list := append(slices.Clone(next.last[f.Scheduler]), f.Followed) // o shares the old list
		next.last[f.Scheduler] = list[max(0, len(list)-tallied):]
	}
	return next, fresh
}

// SchedulerOf returns the name of the scheduler that binds the pod.
func SchedulerOf(p *model.Pod) string {
	return cmp.Or(p.Object.Spec.SchedulerName, corev1.DefaultSchedulerName)
}

// openSince reports whether the node accepts pods now and was registered at the time at. Before the registration the
// scheduler cannot follow a nomination. Times have a resolution of a second.
func openSince(s *model.Snapshot, name string, at time.Time) bool {
	n, ok := s.NodeByName(name)
	if !ok || n.Object == nil || !n.Registered || !takesPods(n) || at.IsZero() {
		return false
	}
	if n.Claim == nil {
		return true
	}
	c := condition.Get(n.Claim, apiv1.ConditionTypeRegistered)
	return c == nil || !at.Before(c.LastTransitionTime.Time.Truncate(time.Second))
}

// boundAt returns when the pod was bound, zero if that is not known.
func boundAt(o *corev1.Pod) time.Time {
	if c := model.PodCondition(o, corev1.PodScheduled); c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
