package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A State is the input of Decide. Objects are only read.
type State struct {
	Now time.Time
	// Deadline is when the node is terminated even if pods remain; zero means never. See the function Deadline.
	Deadline time.Time
	// Pods are all pods bound to the node.
	Pods []*corev1.Pod
	// Attachments are the volumes attached to the node.
	Attachments []*storagev1.VolumeAttachment
	// Volumes maps PersistentVolumeClaims to the names of their PersistentVolumes. Only the claims of pods with
	// PinsVolumes are needed.
	Volumes map[types.NamespacedName]string
	// Refused are pods, by UID, whose eviction a PodDisruptionBudget refused, with the time of the next attempt.
	Refused map[types.UID]time.Time
	// Accepted are pods, by UID, whose eviction the API server has accepted. Until the given time they count as
	// leaving, even if Pods does not show that yet.
	Accepted map[types.UID]time.Time
	// Awaiting are pods, by UID, whose destination is still reserved. They are evicted when it is open.
	Awaiting map[types.UID]bool
}

// A Deletion is a pod to delete by force.
type Deletion struct {
	Pod *corev1.Pod
	// Grace is the grace period of the deletion: whole seconds, at least one.
	Grace time.Duration
}

// A Cause is what prevents the eviction of a pod.
type Cause uint8

// The causes.
const (
	CauseDoNotDisrupt Cause = iota // the pod has the do-not-disrupt annotation
	CauseBudget                    // a PodDisruptionBudget refused the eviction
)

// A Hold is a pod of the current tier that must not be evicted now.
type Hold struct {
	Pod   *corev1.Pod
	Cause Cause
	// Until is when the eviction may be tried, even if the deadline comes first. Zero means that no passage of time
	// allows the eviction.
	Until time.Time
}

// A Spared is a pod that the drain leaves on its node.
type Spared struct {
	Pod    *corev1.Pod
	Reason Spare
}

// A Decision is the result of Decide. Each pod is in exactly one list. Lists are in the order of namespace and name.
type Decision struct {
	// Tier is the tier that is evicted now. It has no meaning if no pod has to leave.
	Tier Tier
	// Evict are the pods to evict by the Eviction API.
	Evict []*corev1.Pod
	// Delete are the pods to delete by force, of any tier.
	Delete []Deletion
	// Held are pods of this tier that must not be evicted now.
	Held []Hold
	// Leaving are pods of any tier that are terminating, or whose eviction was accepted, except those in Delete.
	Leaving []*corev1.Pod
	// Later are pods that are evicted later: those of a tier after Tier, and those of State.Awaiting.
	Later []*corev1.Pod
	// Spared are the pods that stay until the node is terminated.
	Spared []Spared
	// Detaching are the names of the PersistentVolumes that must be detached before the node is terminated.
	Detaching []string
	// Abandoned are PersistentVolumes that are still attached after the deadline. The termination does not wait for
	// them.
	Abandoned []string
	// Again is the earliest time at which the decision changes without an event; zero means never.
	Again time.Time
}

// Drained reports whether no pod has to leave any more.
func (d *Decision) Drained() bool { return d.Remaining() == 0 }

// Detached reports whether the termination no longer waits for a volume.
func (d *Decision) Detached() bool { return len(d.Detaching) == 0 }

// Remaining returns how many pods still have to leave.
func (d *Decision) Remaining() int {
	return len(d.Evict) + len(d.Delete) + len(d.Held) + len(d.Leaving) + len(d.Later)
}
