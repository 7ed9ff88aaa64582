package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A stage is a Cluster to which a test delivers pods in different states.
type stage struct {
	*Cluster
	t       *testing.T
	clock   *clocktesting.FakeClock
	version int
}

// show delivers a pod in the given state: new, refused (unschedulable), gated or bound.
func (s *stage) show(name, kind, owner, state string) *corev1.Pod {
	s.version++
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "d", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(s.version),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID(owner), Controller: new(true)}},
	}}
	condition := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}
	switch state {
	case "refused":
		p.Status.Conditions = []corev1.PodCondition{condition}
	case "gated":
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}}
	case "bound":
		p.Spec.NodeName = "n"
		condition.Status, condition.Reason = corev1.ConditionTrue, ""
		p.Status.Conditions = []corev1.PodCondition{condition}
	}
	s.Set(p)
	return p
}

// want compares the pending pods.
func (s *stage) want(what, pods string) {
	s.t.Helper()
	var got []string
	for _, p := range s.Snapshot().Pending() {
		got = append(got, p.Object.Name)
	}
	if diff := cmp.Diff(pods, strings.Join(got, " ")); diff != "" {
		s.t.Errorf("%s: %s", what, diff)
	}
}

func newStage(t *testing.T) *stage {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	return &stage{Cluster: New(clock), t: t, clock: clock}
}

// If one pod of a ReplicaSet is unschedulable, its other pods are treated as unschedulable, whether they were created earlier or
// later.
func TestForetold(t *testing.T) {
	s := newStage(t)
	seen := s.show("a1", "ReplicaSet", "a", "new")
	s.show("a2", "ReplicaSet", "a", "new")
	s.show("b1", "ReplicaSet", "b", "new")
	s.want("nothing is judged", "")
	s.show("a3", "ReplicaSet", "a", "refused")
	s.want("one is judged", "a1 a2 a3")
	if len(seen.Status.Conditions) > 0 {
		t.Error("the object that the watch has shown was changed")
	}
	s.show("a4", "ReplicaSet", "a", "new")
	s.want("one more comes", "a1 a2 a3 a4")
	s.show("a1", "ReplicaSet", "a", "refused")
	s.show("a2", "ReplicaSet", "a", "bound")
	s.want("the scheduler says so itself, or knows better", "a1 a3 a4")
}

// Pods of owners whose pods may differ, and pods with scheduling gates, are not treated as unschedulable.
func TestNotForetold(t *testing.T) {
	s := newStage(t)
	s.show("w1", "Workflow", "w", "new")
	s.show("w2", "Workflow", "w", "refused")
	s.show("a1", "ReplicaSet", "a", "gated")
	s.show("a2", "ReplicaSet", "a", "refused")
	s.want("judged only", "a2 w2")
}

// When all pods of an owner are bound, the backlog has no entries for the owner.
func TestForgotten(t *testing.T) {
	s := newStage(t)
	s.show("a1", "ReplicaSet", "a", "refused")
	s.show("a1", "ReplicaSet", "a", "bound")
	s.show("a2", "ReplicaSet", "a", "new")
	s.want("there may be room now", "")
	refused := s.show("a3", "ReplicaSet", "a", "refused")
	s.want("there is none", "a2 a3")
	s.Remove(refused)
	s.show("a4", "ReplicaSet", "a", "new")
	s.want("the one that was refused is gone", "a2")
	for _, name := range []string{"a2", "a4"} {
		s.Remove(s.show(name, "ReplicaSet", "a", "bound"))
	}
	if b := &s.backlog; len(b.unjudged)+len(b.seen)+len(b.told)+len(b.refused)+len(b.siblings) > 0 {
		t.Errorf("the backlog has entries without a pod: %+v", b)
	}
}

// While other pods are unschedulable, a pod that has not been tried for overdueAfter is treated as unschedulable when a round
// begins. A newer pod is not.
func TestForetell(t *testing.T) {
	s := newStage(t)
	s.show("a1", "Workflow", "a", "new")
	s.clock.Step(overdueAfter)
	s.Foretell()
	s.want("no pod was refused", "")
	s.show("b1", "Workflow", "b", "refused")
	s.show("c1", "Workflow", "c", "new")
	s.show("d1", "Workflow", "d", "gated")
	now := s.clock.Now()
	if first, latest, behind := s.Backlog(); !behind || !first.Equal(now.Add(-overdueAfter)) || !latest.Equal(now) {
		t.Errorf("the scheduler is behind: %v, with pods from %v until %v", behind, first, latest)
	}
	s.Foretell()
	s.want("one was", "a1 b1")
	if _, _, behind := s.Backlog(); behind {
		t.Error("the scheduler is behind with a pod that has just come")
	}
	s.show("a1", "Workflow", "a", "new")
	s.want("it was written to by others", "a1 b1")
	s.clock.Step(overdueAfter)
	s.Foretell()
	s.want("a while later", "a1 b1 c1")
	s.show("c1", "Workflow", "c", "bound")
	s.want("the scheduler knew better", "a1 b1")
	if got := s.WaitingSince(&model.Pod{UID: "a1"}); !got.Equal(s.clock.Now().Add(-2 * overdueAfter)) {
		t.Errorf("a1 waits since %v, want since it came", got)
	}
}

// A pod that is treated as unschedulable remains so after Karpenter has written its nomination.
func TestForetoldAndWritten(t *testing.T) {
	s := newStage(t)
	s.show("a1", "ReplicaSet", "a", "refused")
	written := s.show("a2", "ReplicaSet", "a", "new").DeepCopy()
	s.version++
	written.ResourceVersion, written.Status.NominatedNodeName = fmt.Sprint(s.version), "n"
	s.Assume(written)
	s.want("nominated", "a1 a2")
}
