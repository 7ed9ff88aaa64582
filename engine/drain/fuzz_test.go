package drain

import (
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/scenario/rawpods"
)

// FuzzDecide decides on drains of pods that the API server accepts. Each pod is in exactly one list of the decision, and the
// order of the pods does not change the decision. After the deadline, every pod that must leave is deleted by force or is
// already terminating in time. This holds for every grace period.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a pod with a grace period of ten billion seconds"))
	f.Fuzz(checkDecide)
}

// checkDecide runs Decide on the state that data encodes, and checks the decision.
func checkDecide(t *testing.T, data []byte) {
	b := rawpods.From(data)
	s := rawState(b)
	d := Decide(s)
	if got := d.Remaining() + len(d.Spared); got != len(s.Pods) {
		t.Fatalf("%d pods went in, %d came out:\n%s", len(s.Pods), got, d)
	}
	if !d.Again.IsZero() && !d.Again.After(s.Now) {
		t.Errorf("look again at %v, which is not after %v", d.Again, s.Now)
	}
	for _, x := range d.Delete {
		if left := s.Deadline.Sub(s.Now); s.Deadline.IsZero() || x.Grace < time.Second || x.Grace > max(left, time.Second) {
			t.Errorf("%s gets %s, the deadline is in %s", key(x.Pod), x.Grace, left)
		}
	}
	if !s.Deadline.IsZero() && !s.Now.Before(s.Deadline) && len(d.Evict)+len(d.Held)+len(d.Later) > 0 {
		t.Errorf("a pod outlives the deadline:\n%s", d)
	}
	slices.Reverse(s.Pods)
	if other := Decide(s).String(); other != d.String() {
		t.Errorf("in another order:\n%s\nbefore:\n%s", other, d)
	}
}

// rawState returns the State of a node, its time, deadline and pods, derived from b.
func rawState(b *rawpods.Bytes) State {
	at := func() time.Time {
		seconds := rawpods.Pick(b, int64(0), 1, -1, 3600, -3600, math.MaxInt32, -math.MaxInt32, 9_000_000_000)
		return epoch.Add(time.Duration(seconds) * time.Second)
	}
	claim := &apiv1.NodeClaim{}
	if rawpods.Pick(b, false, true) {
		claim.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: rawpods.Pick(b, time.Hour, 0, -time.Hour, time.Duration(math.MaxInt64))}
		claim.DeletionTimestamp = &metav1.Time{Time: at()}
	}
	if value := rawpods.Pick(b, "", "", "2026-01-01T09:00:00Z", "9999-12-31T23:59:59Z", "soon"); value != "" {
		claim.Annotations = map[string]string{apiv1.NodeClaimTerminationTimestampAnnotationKey: value}
	}
	s := State{
		Now: epoch, Refused: map[types.UID]time.Time{}, Accepted: map[types.UID]time.Time{}, Awaiting: map[types.UID]bool{},
		Volumes: map[types.NamespacedName]string{},
	}
	s.Deadline, _ = Deadline(claim) // an annotation that is not a valid time is ignored
	for i := 0; i < rawpods.MostPods && b.Left(); i++ {
		p := b.Pod(i)
		p.Status.Phase = rawpods.Pick(b, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded)
		if rawpods.Pick(b, false, false, true) {
			p.DeletionTimestamp = &metav1.Time{Time: at()}
		}
		if rawpods.Pick(b, false, true) {
			p.Status.StartTime = &metav1.Time{Time: at()}
		}
		if rawpods.Pick(b, false, false, true) {
			s.Refused[p.UID] = at()
		}
		// The controller counts an eviction as accepted for a few seconds only. So Accepted has no pods after the deadline.
		if rawpods.Pick(b, false, false, true) && s.Now.Before(s.Deadline) {
			s.Accepted[p.UID] = at()
		}
		s.Awaiting[p.UID] = rawpods.Pick(b, false, false, true)
		s.Pods = append(s.Pods, p)
		for _, name := range ClaimsOf(p) {
			volume := name.Name
			s.Volumes[name] = volume
			s.Attachments = append(s.Attachments, &storagev1.VolumeAttachment{
				Spec: storagev1.VolumeAttachmentSpec{Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
			})
		}
	}
	return s
}
