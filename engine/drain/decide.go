package drain

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// turnPoll is the interval between checks whether the destination of a pod is open (see State.Awaiting). Opening it
// triggers the controller. The checks find the rare changes that trigger nothing, such as a taint that a user removes.
const turnPoll = 2 * time.Second

// Decide returns the next step of the drain of a node.
func Decide(s State) Decision {
	var d Decision
	d.Tier = tiers
	pods := slices.SortedFunc(slices.Values(s.Pods), func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	// Terminating pods count as well, because later tiers wait until these pods are gone.
	for _, p := range pods {
		if SpareOf(p, s.Now) == SpareNone {
			d.Tier = min(d.Tier, TierOf(p))
		}
	}
	for _, p := range pods {
		d.addPod(p, s)
	}
	d.addVolumes(s, pods)
	return d
}

// addPod adds one pod to its list.
func (d *Decision) addPod(p *corev1.Pod, s State) {
	if reason := SpareOf(p, s.Now); reason != SpareNone {
		d.Spared = append(d.Spared, Spared{Pod: p, Reason: reason})
		return
	}
	if forced(p, s.Deadline, s.Now) {
		d.Delete = append(d.Delete, Deletion{Pod: p, Grace: remainingGrace(s.Deadline, s.Now)})
		return
	}
	if p.DeletionTimestamp != nil {
		d.Leaving = append(d.Leaving, p)
		d.lookAgain(s.Now, p.DeletionTimestamp.Add(StuckAfter))
		return
	}
	d.lookAgain(s.Now, forceAt(p, s.Deadline))
	if believed := s.Accepted[p.UID]; s.Now.Before(believed) {
		d.Leaving = append(d.Leaving, p)
		d.lookAgain(s.Now, believed)
		return
	}
	if TierOf(p) != d.Tier {
		d.Later = append(d.Later, p)
		return
	}
	if s.Awaiting[p.UID] {
		d.Later = append(d.Later, p)
		d.lookAgain(s.Now, s.Now.Add(turnPoll))
		return
	}
	if hold, held := heldBy(p, s); held {
		d.Held = append(d.Held, hold)
		d.lookAgain(s.Now, hold.Until)
		return
	}
	d.Evict = append(d.Evict, p)
}

// heldBy returns what prevents the eviction of the pod, if anything.
func heldBy(p *corev1.Pod, s State) (Hold, bool) {
	if active, until, _ := model.DoNotDisrupt(p, s.Now); active {
		return Hold{Pod: p, Cause: CauseDoNotDisrupt, Until: until}, true
	}
	if retry := s.Refused[p.UID]; s.Now.Before(retry) {
		return Hold{Pod: p, Cause: CauseBudget, Until: retry}, true
	}
	return Hold{}, false
}

// lookAgain sets Again to at, if at is in the future and earlier than Again.
func (d *Decision) lookAgain(now, at time.Time) {
	if !at.After(now) {
		return
	}
	if d.Again.IsZero() || at.Before(d.Again) {
		d.Again = at
	}
}
