package condition_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

var (
	created = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	later   = created.Add(time.Minute)
	latest  = later.Add(time.Minute)
)

func claim() *apiv1.NodeClaim {
	return &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Generation: 1, CreationTimestamp: metav1.NewTime(created),
	}}
}

// line has the fields of a condition that tests compare.
type line struct {
	Type, Status, Reason string
	Generation           int64
	Since                time.Duration // after creation
}

func lines(o condition.Object) []line {
	var list []line
	for _, c := range o.GetConditions() {
		list = append(list, line{
			c.Type, string(c.Status), c.Reason, c.ObservedGeneration, c.LastTransitionTime.Sub(created),
		})
	}
	return list
}

func want(t *testing.T, o condition.Object, want ...line) {
	t.Helper()
	if diff := cmp.Diff(want, lines(o)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestInitialize(t *testing.T) {
	c := claim()
	if !condition.Initialize(c, later) {
		t.Error("the first Initialize says that nothing changed")
	}
	want(t, c,
		line{"Initialized", "Unknown", "AwaitingReconciliation", 1, 0},
		line{"Launched", "Unknown", "AwaitingReconciliation", 1, 0},
		line{"Registered", "Unknown", "AwaitingReconciliation", 1, 0},
		line{"Ready", "Unknown", "AwaitingReconciliation", 1, 0},
	)
	if condition.Initialize(c, latest) {
		t.Error("the second Initialize says that something changed")
	}
}

func TestInitializeBeforeCreation(t *testing.T) {
	c := &apiv1.NodeClaim{}
	condition.Initialize(c, later)
	if got := condition.Get(c, "Ready").LastTransitionTime; !got.Time.Equal(later) {
		t.Errorf("Ready is Unknown since %s, want %s", got, later)
	}
}

func TestSetMovesTheRoot(t *testing.T) {
	c := claim()
	condition.SetTrue(c, "Launched", later)
	want(t, c,
		line{"Initialized", "Unknown", "AwaitingReconciliation", 1, 0},
		line{"Launched", "True", "Launched", 1, time.Minute},
		line{"Registered", "Unknown", "AwaitingReconciliation", 1, 0},
		line{"Ready", "Unknown", "UnhealthyDependents", 1, 0},
	)
	condition.SetFalse(c, "Registered", "NodeNotFound", "no such node", later)
	if got := condition.Get(c, "Ready"); got.Status != "False" || got.Message != "Registered=False, Initialized=Unknown" {
		t.Errorf("Ready is %s, %q", got.Status, got.Message)
	}
	condition.SetTrue(c, "Registered", latest)
	condition.SetTrue(c, "Initialized", latest)
	if got := condition.Get(c, "Ready"); got.Status != "True" || got.Reason != "Ready" ||
		!got.LastTransitionTime.Time.Equal(latest) || !condition.Ready(c) {
		t.Errorf("Ready is %+v", got)
	}
}

func TestTransitionTimeMovesOnlyWithTheStatus(t *testing.T) {
	c := claim()
	condition.SetUnknown(c, "Launched", "A", "first", later)
	if !condition.SetUnknown(c, "Launched", "B", "second", latest) {
		t.Error("another reason is no change")
	}
	got := condition.Get(c, "Launched")
	if !got.LastTransitionTime.Time.Equal(created) || got.Reason != "B" || got.Message != "second" {
		t.Errorf("got %+v", got)
	}
	if condition.SetUnknown(c, "Launched", "B", "second", latest.Add(time.Hour)) {
		t.Error("the same condition is a change")
	}
	condition.SetFalse(c, "Launched", "B", "second", latest)
	if got := condition.Get(c, "Launched"); !got.LastTransitionTime.Time.Equal(latest) {
		t.Errorf("False since %s, want %s", got.LastTransitionTime, latest)
	}
}

func TestStaleDependentIsNotHealthy(t *testing.T) {
	c := claim()
	for _, dependent := range c.StatusConditions().Dependents {
		condition.SetTrue(c, dependent, later)
	}
	c.Generation = 2
	if condition.Ready(c) {
		t.Error("ready for a generation that no controller has reconciled")
	}
	condition.SetTrue(c, "Launched", latest)
	root := condition.Get(c, "Ready")
	if root.Status != "Unknown" || root.Reason != "UnhealthyDependents" || root.ObservedGeneration != 2 {
		t.Errorf("Ready is %+v", root)
	}
	if got := condition.Get(c, "Launched"); !got.LastTransitionTime.Time.Equal(later) || got.ObservedGeneration != 2 {
		t.Errorf("Launched is %+v", got)
	}
}

func TestIndependentsDoNotCount(t *testing.T) {
	c := claim()
	condition.SetFalse(c, apiv1.ConditionTypeConsistentStateFound, "ConsistencyCheckFailed", "m", later)
	condition.SetTrueWithReason(c, apiv1.ConditionTypeDrifted, "NodePoolDrifted", "m", later)
	for _, dependent := range c.StatusConditions().Dependents {
		condition.SetTrue(c, dependent, later)
	}
	if !condition.Ready(c) || !condition.IsTrue(c, "Ready", "Drifted") || condition.IsTrue(c, "Ready", "Drained") {
		t.Errorf("conditions are %+v", lines(c))
	}
}

// The cause is what a dependent says, not the name of the dependent.
func TestCause(t *testing.T) {
	c := claim()
	if got := condition.Cause(c); got != "" {
		t.Errorf("cause %q without conditions", got)
	}
	condition.Initialize(c, later)
	if got := condition.Cause(c); got != "object is awaiting reconciliation" {
		t.Errorf("cause %q, want the message of the root", got)
	}
	condition.SetFalse(c, "Registered", "Refused", "two nodes have this provider ID", later)
	if got := condition.Cause(c); got != "two nodes have this provider ID" {
		t.Errorf("cause %q, want the message of the dependent", got)
	}
}

func TestClear(t *testing.T) {
	c := claim()
	condition.SetTrueWithReason(c, apiv1.ConditionTypeDrifted, "NodePoolDrifted", "m", later)
	if !condition.Clear(c, apiv1.ConditionTypeDrifted, apiv1.ConditionTypeConsolidatable) {
		t.Error("clearing a condition is no change")
	}
	if condition.Get(c, apiv1.ConditionTypeDrifted) != nil {
		t.Error("Drifted is still there")
	}
	if condition.Clear(c, "Drifted", "Launched", "Ready") {
		t.Error("clearing dependents and root is a change")
	}
	if condition.Get(c, "Launched") == nil || condition.Get(c, "Ready") == nil {
		t.Error("dependents or root are gone")
	}
}

func TestSettingTheRootOnlyRecomputesIt(t *testing.T) {
	c := claim()
	condition.SetTrue(c, "Ready", later)
	if got := condition.Get(c, "Ready").Status; got != "Unknown" {
		t.Errorf("Ready is %s", got)
	}
}

func TestKindWithoutDependents(t *testing.T) {
	c := &kwokv1alpha1.KWOKNodeClass{}
	c.Generation = 3
	if condition.Ready(c) {
		t.Error("ready without a condition")
	}
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}}
	if !condition.Ready(c) {
		t.Error("not ready with Ready=True")
	}
}

func TestGetReturnsACopy(t *testing.T) {
	c := claim()
	condition.SetTrue(c, "Launched", later)
	condition.Get(c, "Launched").Status = "False"
	if !condition.IsTrue(c, "Launched") {
		t.Error("changing what Get returned changed the object")
	}
}

// These laws hold after any sequence of changes. The list is sorted, with the
// root last. The root is True exactly if all dependents are True for the
// present generation. A transition time changes only with the status.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, now := claim(), created
		types := []string{"Launched", "Registered", "Initialized", "Drifted", "Ready"}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			before := map[string]metav1.Condition{}
			for _, old := range c.GetConditions() {
				before[old.Type] = old
			}
			now = now.Add(time.Second)
			switch rapid.SampledFrom([]string{"set", "set", "edit", "clear"}).Draw(t, "step") {
			case "set":
				status := rapid.SampledFrom([]metav1.ConditionStatus{"True", "True", "False", "Unknown"}).Draw(t, "status")
				condition.Set(c, metav1.Condition{
					Type: rapid.SampledFrom(types).Draw(t, "type"), Status: status, Reason: "R",
				}, now)
			case "edit":
				c.Generation++
				condition.Initialize(c, now)
			case "clear":
				condition.Clear(c, rapid.SampledFrom(types).Draw(t, "type"))
			}
			checkLaws(t, c, before)
		}
	})
}

func checkLaws(t *rapid.T, c *apiv1.NodeClaim, before map[string]metav1.Condition) {
	list := c.GetConditions()
	if len(list) == 0 {
		return // nothing was set yet
	}
	if last := list[len(list)-1].Type; last != "Ready" {
		t.Errorf("%s is last", last)
	}
	for i, now := range list {
		if i > 0 && i < len(list)-1 && list[i-1].Type >= now.Type {
			t.Errorf("%s comes before %s", list[i-1].Type, now.Type)
		}
		old, ok := before[now.Type]
		if ok && old.Status == now.Status && !old.LastTransitionTime.Equal(&now.LastTransitionTime) {
			t.Errorf("time of %s moved from %v to %v", now.Type, old, now)
		}
	}
	healthy := true
	for _, dependent := range c.StatusConditions().Dependents {
		d := condition.Get(c, dependent)
		healthy = healthy && d.Status == "True" && d.ObservedGeneration == c.Generation
	}
	if healthy != condition.IsTrue(c, "Ready") {
		t.Errorf("dependents healthy: %t, conditions %v", healthy, lines(c))
	}
}

// A write that is repeated on a newer version of the object changes only the conditions that the write has changed.
func TestCopyChanged(t *testing.T) {
	was := claim()
	condition.SetTrue(was, apiv1.ConditionTypeDrifted, created)
	is := was.DeepCopy()
	condition.SetTrue(is, apiv1.ConditionTypeDrained, created.Add(time.Second))
	to := was.DeepCopy()
	condition.Clear(to, apiv1.ConditionTypeDrifted)
	condition.CopyChanged(to, was, is)
	if condition.Get(to, apiv1.ConditionTypeDrifted) != nil {
		t.Error("a condition that others have cleared is back")
	}
	if got := condition.Get(to, apiv1.ConditionTypeDrained); got == nil || !got.LastTransitionTime.Time.Equal(created.Add(time.Second)) {
		t.Errorf("the changed condition is %v", got)
	}
}
