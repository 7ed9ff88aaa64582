package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A State is what must be known of a node to decide. Objects are only read.
type State struct {
	// Now is the time of the decision.
	Now time.Time
	// Deadline is when the node goes whatever is still on it; zero means never. See Deadline.
	Deadline time.Time
	// Pods are all pods bound to the node.
	Pods []*corev1.Pod
	// Attachments are the volumes attached to the node.
	Attachments []*storagev1.VolumeAttachment
	// Volumes maps PersistentVolumeClaims to the names of their PersistentVolumes. Needed only for the claims of pods that
	// are left alone, see PinsVolumes and ClaimsOf; a claim that is missing counts as bound to nothing.
	Volumes map[types.NamespacedName]string
	// Refused are the pods, by UID, whose eviction a disruption budget refused, and when each may be tried again.
	Refused map[types.UID]time.Time
	// Accepted are the pods, by UID, whose eviction the API server accepted though Pods does not show it yet, and until
	// when that is believed. They count as leaving and are not asked for again.
	Accepted map[types.UID]time.Time
	// Awaiting are the pods, by UID, whose new node will be opened to them in a moment; they leave then.
	Awaiting map[types.UID]bool
}

// A Deletion is a pod to delete by force.
type Deletion struct {
	Pod *corev1.Pod
	// Grace is what is left for the pod to shut down: whole seconds, at least one.
	Grace time.Duration
}

// A Cause says what holds a pod on its node.
type Cause uint8

// What may hold a pod.
const (
	CauseDoNotDisrupt Cause = iota // its annotation do-not-disrupt
	CauseBudget                    // a disruption budget refused its eviction
)

// String says the cause in words.
func (c Cause) String() string {
	if c == CauseBudget {
		return "a disruption budget allows no eviction"
	}
	return "has the do-not-disrupt annotation"
}

// A Hold is a pod whose turn it is and that may not be touched.
type Hold struct {
	Pod   *corev1.Pod
	Cause Cause
	// Until is when the pod may be tried, the deadline aside; zero means not by time alone.
	Until time.Time
}

// A Spared pod is left where it is.
type Spared struct {
	Pod    *corev1.Pod
	Reason Spare
}

// A Decision says what to do with the node now. Each pod is in exactly one list; all lists are in the order of namespace
// and name.
type Decision struct {
	// Tier is the tier whose turn it is; of no meaning once Drained.
	Tier Tier
	// Evict are the pods to ask the Eviction API for.
	Evict []*corev1.Pod
	// Delete are the pods to delete by force, of any tier.
	Delete []Deletion
	// Held are pods of this tier that may not be touched.
	Held []Hold
	// Leaving are pods that are terminating already, or will be seen to be any moment, of any tier.
	Leaving []*corev1.Pod
	// Later are pods of tiers whose turn has not come, and pods that wait for their new node to be opened.
	Later []*corev1.Pod
	// Spared are the pods that stay to the end.
	Spared []Spared
	// Detaching are the names of the persistent volumes that must be detached before the node may go.
	Detaching []string
	// Abandoned are those that are still attached after the deadline and are not waited for any more.
	Abandoned []string
	// Again is the earliest time at which, without any event, the decision would be another; zero if never.
	Again time.Time
}

// Drained reports whether every pod that has to leave is gone.
func (d *Decision) Drained() bool {
	return len(d.Evict)+len(d.Delete)+len(d.Held)+len(d.Leaving)+len(d.Later) == 0
}

// Detached reports whether no volume is waited for, given up ones included.
func (d *Decision) Detached() bool { return len(d.Detaching) == 0 }

// Remaining is how many pods still have to leave.
func (d *Decision) Remaining() int {
	return len(d.Evict) + len(d.Delete) + len(d.Held) + len(d.Leaving) + len(d.Later)
}
