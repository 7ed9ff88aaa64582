package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A family is the pods of one owner, which are alike.
type family struct {
	// refused are those that the scheduler has found no node for.
	refused map[types.UID]bool
	// unjudged are those that it has not looked at, by key.
	unjudged map[string]*corev1.Pod
}

// families are the owners of pods that wait, by UID.
//
// The scheduler judges one pod after the other, some tens or hundreds a second. Of a thousand pods that come at once the last
// is told after many seconds that it does not fit, and who plans only for those that were told plans for a few at a time, and
// worse. What the scheduler said of one pod of a ReplicaSet it will say of the others: they count as refused as well. If it finds a
// node for one of them after all, because room has come about, so would the plan have.
type families map[types.UID]*family

// take notes what o says, and returns how the pod is to be seen, and its siblings that are seen otherwise from now on.
func (f families) take(o *corev1.Pod) (seen *corev1.Pod, siblings []*corev1.Pod) {
	id, ok := familyOf(o)
	if !ok {
		return o, nil
	}
	p := model.Pod{Object: o}
	fam := f[id]
	if fam == nil {
		if p.Bound() || p.Terminal() {
			return o, nil
		}
		fam = &family{refused: map[types.UID]bool{}, unjudged: map[string]*corev1.Pod{}}
		f[id] = fam
	}
	defer f.forget(id)
	delete(fam.unjudged, keyOf(o))
	switch {
	case p.Provisionable():
		first := len(fam.refused) == 0
		fam.refused[o.UID] = true
		if first {
			for _, sibling := range fam.unjudged {
				siblings = append(siblings, refusedToo(sibling))
			}
			clear(fam.unjudged)
		}
		return o, siblings
	case !unjudged(&p):
		delete(fam.refused, o.UID)
	case len(fam.refused) > 0:
		return refusedToo(o), nil
	default:
		fam.unjudged[keyOf(o)] = o
	}
	return o, nil
}

// gone forgets a pod.
func (f families) gone(o *corev1.Pod) {
	id, ok := familyOf(o)
	if fam := f[id]; ok && fam != nil {
		delete(fam.refused, o.UID)
		delete(fam.unjudged, keyOf(o))
		f.forget(id)
	}
}

// forget drops a family of which no pod waits.
func (f families) forget(id types.UID) {
	if fam := f[id]; len(fam.refused)+len(fam.unjudged) == 0 {
		delete(f, id)
	}
}

// alike are the kinds of owners whose pods are made of one template. Others may make a different pod each time.
var alike = []string{"ReplicaSet", "StatefulSet", "Job"}

func familyOf(o *corev1.Pod) (types.UID, bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil || !slices.Contains(alike, owner.Kind) {
		return "", false
	}
	return owner.UID, true
}

// unjudged reports whether the scheduler is going to look at the pod for the first time.
func unjudged(p *model.Pod) bool {
	return !p.Bound() && !p.Terminal() && !p.Terminating() && len(p.Object.Spec.SchedulingGates) == 0 &&
		!slices.ContainsFunc(p.Object.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
}

// refusedToo returns the pod as the scheduler will have judged it. The object that was seen is shared, and stays as it is.
func refusedToo(o *corev1.Pod) *corev1.Pod {
	p := *o
	p.Status.Conditions = append(slices.Clip(o.Status.Conditions), corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "like another pod of its owner",
	})
	return &p
}

func keyOf(o *corev1.Pod) string { return o.Namespace + "/" + o.Name }
