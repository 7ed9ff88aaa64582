package drain

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// turnPoll is the interval between checks whether the destination of a pod is open (see State.Awaiting). Opening it
// triggers the controller. The checks find the rare changes that trigger nothing, such as a taint that a user removes.
const turnPoll = 2 * time.Second

// Decide returns the next step of the drain of a node.
func Decide(s State) Decision {
	d := Decision{Tier: tiers}
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
	spare := SpareOf(p, s.Now)
	if spare == SpareNone && p.DeletionTimestamp == nil {
		d.lookAgain(s.Now, forceAt(p, s.Deadline))
	}
	accepted := s.Accepted[p.UID]
	hold, held := heldBy(p, s)
	switch {
	case spare != SpareNone:
		d.Spared = append(d.Spared, Spared{Pod: p, Reason: spare})
	case forced(p, s.Deadline, s.Now):
		d.Delete = append(d.Delete, Deletion{Pod: p, Grace: remainingGrace(s.Deadline, s.Now)})
	case p.DeletionTimestamp != nil:
		d.Leaving = append(d.Leaving, p)
		d.lookAgain(s.Now, p.DeletionTimestamp.Add(StuckAfter))
	case s.Now.Before(accepted):
		d.Leaving = append(d.Leaving, p)
		d.lookAgain(s.Now, accepted)
	case TierOf(p) != d.Tier:
		d.Later = append(d.Later, p)
	case s.Awaiting[p.UID]:
		d.Later = append(d.Later, p)
		d.lookAgain(s.Now, s.Now.Add(turnPoll))
	case held:
		d.Held = append(d.Held, hold)
		d.lookAgain(s.Now, hold.Until)
	default:
		d.Evict = append(d.Evict, p)
	}
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
	if at.After(now) && (d.Again.IsZero() || at.Before(d.Again)) {
		d.Again = at
	}
}

// A Tier is a group of pods that are evicted together. Lower tiers leave first.
type Tier uint8

// The tiers in the order in which they leave.
const (
	TierOrdinary Tier = iota
	TierOrdinaryDaemon
	TierCritical
	TierCriticalDaemon
	tiers // the number of tiers
)

// TierOf returns the tier of the pod. Critical pods have one of the two system priority classes of Kubernetes. A pod
// with another priority class is not critical, however high its priority is.
func TierOf(pod *corev1.Pod) Tier {
	tier := TierOrdinary
	if name := pod.Spec.PriorityClassName; name == "system-cluster-critical" || name == "system-node-critical" {
		tier = TierCritical
	}
	if view(pod).Daemon() {
		tier++
	}
	return tier
}

// view returns the pod for the methods of model.Pod that read only its Object.
func view(pod *corev1.Pod) *model.Pod { return &model.Pod{Object: pod} }

// StuckAfter is the time after its deletion timestamp for which a terminating pod delays the drain. If it still exists
// then, its kubelet no longer responds.
const StuckAfter = time.Minute

// A Spare is the reason why a drain leaves a pod on its node. The zero value means that the pod must leave.
type Spare uint8

// The reasons to leave a pod on its node.
const (
	SpareNone      Spare = iota
	SpareTerminal        // it has succeeded or failed
	SpareMirror          // a static pod: only its kubelet can stop it
	SpareTolerates       // it tolerates the disruption taint
	SpareStuck           // it is still terminating StuckAfter its deletion timestamp
)

// SpareOf returns why the drain leaves the pod on its node, or SpareNone.
func SpareOf(pod *corev1.Pod, now time.Time) Spare {
	switch {
	case view(pod).Terminal():
		return SpareTerminal
	case view(pod).Mirror():
		return SpareMirror
	case model.Tolerates(pod.Spec.Tolerations, apiv1.DisruptedNoScheduleTaint()):
		return SpareTolerates
	case pod.DeletionTimestamp != nil && !now.Before(pod.DeletionTimestamp.Add(StuckAfter)):
		return SpareStuck
	}
	return SpareNone
}
