package drain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

var epoch = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// anyState draws a node with up to eight pods. All times lie within some minutes before or after epoch.
func anyState(t *rapid.T) State {
	s := State{Now: anyTime(t, "now"), Refused: map[types.UID]time.Time{}, Accepted: map[types.UID]time.Time{}}
	if rapid.Bool().Draw(t, "has deadline") {
		s.Deadline = anyTime(t, "deadline")
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "pods") {
		p := anyPod(t, fmt.Sprintf("p%d", i))
		if rapid.IntRange(0, 3).Draw(t, "refused") == 0 {
			s.Refused[p.UID] = anyTime(t, "retry")
		}
		if rapid.IntRange(0, 5).Draw(t, "accepted") == 0 {
			s.Accepted[p.UID] = anyTime(t, "believed")
		}
		s.Pods = append(s.Pods, p)
	}
	return s
}

func anyTime(t *rapid.T, label string) time.Time {
	return epoch.Add(time.Duration(rapid.IntRange(-200, 200).Draw(t, label)) * time.Second)
}

func anyPod(t *rapid.T, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	p.Spec.PriorityClassName = rapid.SampledFrom([]string{"", "", "system-node-critical"}).Draw(t, "priority")
	if rapid.IntRange(0, 2).Draw(t, "daemon") == 0 {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d"}}
	}
	if value := rapid.SampledFrom([]string{"", "", "true", "1m", "no"}).Draw(t, "do-not-disrupt"); value != "" {
		p.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: value}
		p.Status.StartTime = &metav1.Time{Time: anyTime(t, "start")}
	}
	if rapid.IntRange(0, 3).Draw(t, "terminating") == 0 {
		p.DeletionTimestamp = &metav1.Time{Time: anyTime(t, "deletion")}
	}
	if rapid.IntRange(0, 5).Draw(t, "tolerates") == 0 {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	grace := rapid.Int64Range(0, 90).Draw(t, "grace")
	p.Spec.TerminationGracePeriodSeconds = &grace
	return p
}

func TestEveryPodIsInOneList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		d := Decide(s)
		if got := d.Remaining() + len(d.Spared); got != len(s.Pods) {
			t.Fatalf("%d pods went in, %d came out:\n%s", len(s.Pods), got, d)
		}
	})
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		want := Decide(s).String()
		s.Pods = rapid.Permutation(s.Pods).Draw(t, "order")
		if diff := cmp.Diff(want, Decide(s).String()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// At any time before Again the decision is the same, so a caller may sleep until then.
func TestNothingChangesBeforeAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		d := Decide(s)
		horizon := s.Now.Add(time.Hour)
		if !d.Again.IsZero() {
			if !d.Again.After(s.Now) {
				t.Fatalf("look again at %v, which is not after %v", d.Again, s.Now)
			}
			horizon = d.Again
		}
		s.Now = s.Now.Add(time.Duration(rapid.Int64Range(0, int64(horizon.Sub(s.Now))-1).Draw(t, "later")))
		if len(d.Delete) > 0 {
			return // a deletion is due now, so the caller must not sleep
		}
		late := Decide(s)
		if diff := cmp.Diff(d.String(), late.String()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestNothingIsForcedBeforeItsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		for _, f := range Decide(s).Delete {
			left := s.Deadline.Sub(s.Now)
			switch {
			case s.Deadline.IsZero():
				t.Fatalf("%s is deleted by force without a deadline", key(f.Pod))
			case f.Pod.DeletionTimestamp == nil && left > graceOf(f.Pod):
				t.Fatalf("%s is deleted %s before the deadline, its grace period is %s", key(f.Pod), left, graceOf(f.Pod))
			case f.Grace < time.Second:
				t.Fatalf("%s gets %s to shut down", key(f.Pod), f.Grace)
			}
		}
	})
}

func TestOneTierAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		d := Decide(s)
		for _, p := range d.Evict {
			if slices.ContainsFunc(s.Pods, func(o *corev1.Pod) bool {
				return SpareOf(o, s.Now) == SpareNone && TierOf(o) < TierOf(p)
			}) {
				t.Fatalf("%s is evicted before an earlier tier is gone:\n%s", key(p), d)
			}
			if active, _, _ := model.DoNotDisrupt(p, s.Now); active || s.Now.Before(s.Refused[p.UID]) {
				t.Fatalf("%s is evicted though it is held", key(p))
			}
		}
	})
}
