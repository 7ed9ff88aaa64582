package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// health counts the recorded registrations.
type health struct {
	joined, failed int
	why            string
}

func (h *health) RecordSuccess(uid types.UID) {
	h.check(uid)
	h.joined++
}

func (h *health) RecordFailure(uid types.UID, reason, _ string) {
	h.check(uid)
	h.failed++
	h.why = reason
}

func (h *health) check(uid types.UID) {
	if uid != "uid-pool" {
		panic("unexpected pool " + uid)
	}
}

// bench is a controller in a world.
type bench struct {
	*world.World
	*Controller
	t      *testing.T
	health *health
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	w := world.New(t, objects...)
	h := &health{}
	return &bench{World: w, t: t, health: h, Controller: &Controller{
		Client: w.Client, Clock: w.Clock, Events: w.Events, Metrics: w.Metrics, Cloud: w.Cloud, Health: h,
	}}
}

// try reconciles the claim once and returns the result and the error.
func (b *bench) try(name string) (ctrl.Result, error) {
	return b.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
}

// pass reconciles the claim once and fails the test on an error.
func (b *bench) pass(name string) ctrl.Result {
	b.t.Helper()
	r, err := b.try(name)
	if err != nil {
		b.t.Fatalf("reconcile %s: %v", name, err)
	}
	return r
}

// restart replaces the controller by one without state in memory.
func (b *bench) restart() {
	old := b.Controller
	b.Controller = &Controller{Client: old.Client, Clock: old.Clock, Events: old.Events, Metrics: old.Metrics,
		Cloud: old.Cloud, Health: old.Health, DRA: old.DRA}
}

func (b *bench) want(what, got, want string) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (b *bench) delete(o client.Object) {
	b.t.Helper()
	if err := b.World.Client.Delete(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
}

func TestWholeLife(t *testing.T) {
	claim := world.Claim("a")
	claim.Labels["team"] = "blue"
	claim.Spec.Taints = []corev1.Taint{{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule}}
	b := newBench(t, claim)

	// After one pass, the claim has all data of the launched instance.
	result := b.pass("a")
	if result.RequeueAfter != 15*time.Minute {
		t.Errorf("looks again after %s, want the registration timeout", result.RequeueAfter)
	}
	got := b.GetClaim("a")
	want := map[string]string{
		apiv1.NodePoolLabelKey: "default", "team": "blue",
		corev1.LabelInstanceTypeStable: "small", corev1.LabelTopologyZone: "zone-a",
		apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeSpot, "fake.example.com/fakenodeclass": "default",
	}
	if diff := cmp.Diff(want, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	b.want("annotation", got.Annotations["fake.example.com/hash"], "1")
	b.want("finalizers", strings.Join(got.Finalizers, " "), apiv1.TerminationFinalizer)
	b.want("provider ID", got.Status.ProviderID, "fake://zone-a/i-1")
	b.want("image", got.Status.ImageID, "image-1")
	b.want("cpu", got.Status.Capacity.Cpu().String()+" "+got.Status.Allocatable.Cpu().String(), "2 1900m")
	b.want("Launched", b.Condition("a", "Launched"), "True Launched")
	b.want("Registered", b.Condition("a", "Registered"), "Unknown NodeNotFound")
	b.want("Ready", b.Condition("a", "Ready"), "Unknown UnhealthyDependents")

	// One pass registers the node and initializes it, because it is ready.
	b.Clock().Step(time.Minute)
	b.Add(world.Node("n1", "fake://zone-a/i-1"))
	b.pass("a")
	node := b.GetNode("n1")
	b.want("node labels", strings.Join([]string{
		node.Labels["team"], node.Labels[apiv1.NodeRegisteredLabelKey], node.Labels[apiv1.NodeInitializedLabelKey],
	}, " "), "blue true true")
	if diff := cmp.Diff(claim.Spec.Taints, node.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	b.want("node finalizer", strings.Join(node.Finalizers, " "), apiv1.TerminationFinalizer)
	b.want("node owner", string(node.OwnerReferences[0].UID), "uid-a")
	b.want("node name", b.GetClaim("a").Status.NodeName, "n1")
	for _, c := range []string{"Registered", "Initialized", "Ready"} {
		b.want(c, b.Condition("a", c), "True "+c)
	}
	if n := b.Count("karpenter_nodes_created_total", "nodepool=default", "zone=zone-a"); n != 1 || b.health.joined != 1 {
		t.Errorf("%v nodes counted and %d noted, want 1 and 1", n, b.health.joined)
	}
	b.want("events", b.World.Events.Told(), "")

	// Further passes change nothing.
	before := b.GetClaim("a").ResourceVersion
	if r := b.pass("a"); r.RequeueAfter != 0 || b.GetClaim("a").ResourceVersion != before {
		t.Errorf("an initialized claim is written or looked at again: %v", r)
	}

	// The node, the instance and the claim are deleted in this order.
	b.delete(b.GetClaim("a"))
	b.pass("a")
	node = b.GetNode("n1")
	if node == nil || node.DeletionTimestamp.IsZero() {
		t.Fatal("the node is not being deleted")
	}
	if b.World.Cloud.Instances()[0].Ending {
		t.Error("the instance ends while its node drains")
	}
	node.Finalizers = nil
	if err := b.World.Client.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if r := b.pass("a"); r.RequeueAfter != time.Second {
		t.Errorf("asks again after %s, want 1s", r.RequeueAfter)
	}
	b.want("InstanceTerminating", b.Condition("a", "InstanceTerminating"), "True InstanceTerminating")
	b.Clock().Step(3 * time.Second)
	b.pass("a")
	if b.GetClaim("a") != nil || len(b.World.Cloud.Instances()) != 0 {
		t.Error("claim or instance are still there")
	}
	if n := b.Count("karpenter_nodeclaims_terminated_total", "capacity_type=spot", "nodepool=default", "zone=zone-a"); n != 1 {
		t.Errorf("terminated_total is %v, want 1", n)
	}
	for _, m := range []string{"karpenter_nodeclaims_termination_duration_seconds",
		"karpenter_nodeclaims_instance_termination_duration_seconds"} {
		if n := b.Count(m, "nodepool=default"); n != 1 {
			t.Errorf("%s has %v observations, want 1", m, n)
		}
	}
	b.pass("a") // the claim no longer exists; that is no error
}

// Clock returns the clock of the world. It hides the field of the controller.
func (b *bench) Clock() interface{ Step(time.Duration) } { return b.World.Clock }

func TestLaunchRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		reason string
		events string
	}{
		{"no capacity", &cloud.InsufficientCapacityError{Err: errors.New("none left")}, "insufficient_capacity",
			"Warning InsufficientCapacityError a"},
		{"class not ready", &cloud.NodeClassNotReadyError{Err: errors.New("no subnets")}, "nodeclass_not_ready",
			"Warning NodeClassNotReady a"},
		{"class missing", &cloud.InsufficientCapacityError{Err: &cloud.NodeClassNotReadyError{Err: errors.New("none")}}, "insufficient_capacity",
			"Warning NodeClassNotReady a\nWarning InsufficientCapacityError a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, world.Claim("a"))
			calls := 0
			b.World.Cloud.OnCreate = func(_ context.Context, claim *apiv1.NodeClaim) error {
				calls++
				b.providerWrites(claim.Name)
				return tt.err
			}
			b.pass("a")
			if b.GetClaim("a").DeletionTimestamp.IsZero() {
				t.Fatal("the claim is not being deleted")
			}
			b.want("events", b.World.Events.Told(), tt.events)
			labels := []string{"capacity_type=", "consolidation_policy=", "nodepool=default", "reason=" + tt.reason,
				"termination_mode=graceful"}
			if n := b.Count("karpenter_nodeclaims_disrupted_total", labels...); n != 1 {
				t.Errorf("disrupted_total is %v, want 1", n)
			}
			b.pass("a")
			if b.GetClaim("a") != nil || calls != 1 || b.health.failed != 0 {
				t.Errorf("after %d launches the claim is %v and %d failures noted, want it gone after one and none",
					calls, b.GetClaim("a"), b.health.failed)
			}
		})
	}
}

// planned has the pods that were planned for each claim.
type planned map[string][]*corev1.Pod

func (p planned) PodsOf(claim string) []*corev1.Pod { return p[claim] }

// If a claim is not launched because of missing capacity, its pods have an event. Its text is as long as the message of an event
// may be.
func TestPodsLearnOfMissingCapacity(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	one := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one", UID: "one"}}
	b.Planned = planned{"a": {one}, "b": {{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "other"}}}}
	b.World.Cloud.OnCreate = func(context.Context, *apiv1.NodeClaim) error {
		return &cloud.InsufficientCapacityError{Err: errors.New("none left")}
	}
	b.pass("a")
	b.want("events", b.World.Events.Told(), "Warning InsufficientCapacityError a\nWarning InsufficientCapacityError one")
}

// What events of claims that were not launched say is true: a missing node class is no lack of capacity. It is in one line.
func TestTextOfRefusedLaunches(t *testing.T) {
	class := &cloud.NodeClassNotReadyError{Err: errors.New("EC2NodeClass x does not exist")}
	for _, tt := range []struct {
		err  error
		want []string
	}{
		{class, []string{"NodeClaim a was not launched and is deleted: node class not ready: EC2NodeClass x does not exist"}},
		{&cloud.InsufficientCapacityError{Err: class}, []string{
			"NodeClaim a was not launched and is deleted: node class not ready: EC2NodeClass x does not exist",
			"NodeClaim a was not launched, is deleted and its pods are planned again: node class not ready: EC2NodeClass x does not exist",
		}},
		{&cloud.InsufficientCapacityError{Err: errors.New("none left")}, []string{
			"NodeClaim a was not launched, is deleted and its pods are planned again: insufficient capacity: none left"}},
	} {
		b, heard := newBench(t, world.Claim("a")), &ear{}
		b.Controller.Events = heard
		b.World.Cloud.OnCreate = func(context.Context, *apiv1.NodeClaim) error { return tt.err }
		b.pass("a")
		if !slices.Equal(heard.texts, tt.want) {
			t.Errorf("%v:\n%s\nwant\n%s", tt.err, strings.Join(heard.texts, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// An ear keeps the messages of events about launches.
type ear struct{ texts []string }

func (e *ear) Publish(events ...telemetry.Event) {
	for _, x := range events {
		if x.Reason == telemetry.EventNodeClassNotReady || x.Reason == telemetry.EventInsufficientCapacityError {
			e.texts = append(e.texts, x.Message)
		}
	}
}

// The message of the condition Launched begins with a capital letter and is one line, also if the error is joined or has no reason.
func TestLaunchedIsOneLine(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.World.Cloud.OnCreate = func(context.Context, *apiv1.NodeClaim) error {
		return errors.Join(errors.New("one"), errors.New("two"))
	}
	if _, err := b.try("a"); err == nil {
		t.Error("a failed launch returns no error")
	}
	for _, c := range b.GetClaim("a").Status.Conditions {
		if want := "Failed to launch instance: one; two"; c.Type == apiv1.ConditionTypeLaunched && c.Message != want {
			t.Errorf("Launched has the message %q, want %q", c.Message, want)
		}
	}
}

// providerWrites changes the claim like a provider that records a launch before the call of the cloud.
func (b *bench) providerWrites(name string) {
	b.t.Helper()
	claim := b.GetClaim(name)
	before := claim.DeepCopy()
	claim.Annotations = map[string]string{"ext.karpenter.sh/launch": "1"}
	if err := b.World.Client.Patch(b.t.Context(), claim, client.MergeFrom(before)); err != nil {
		b.t.Fatal(err)
	}
}

func TestLaunchFailsAndIsTriedAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"plain error", errors.New("throttled " + strings.Repeat("x", 2000)), "Unknown LaunchFailed"},
		{"with a reason", &cloud.LaunchError{Reason: "BadTemplate", Message: "m", Err: errors.New("e")}, "Unknown BadTemplate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, world.Claim("a"))
			b.World.Cloud.OnCreate = func(_ context.Context, claim *apiv1.NodeClaim) error {
				b.providerWrites(claim.Name)
				return tt.err
			}
			if _, err := b.try("a"); !errors.Is(err, tt.err) {
				t.Fatalf("error is %v, want %v", err, tt.err)
			}
			b.want("Launched", b.Condition("a", "Launched"), tt.want)
			for _, c := range b.GetClaim("a").Status.Conditions {
				if c.Type == "Launched" && len(c.Message) > telemetry.MaxMessage {
					t.Errorf("message has %d bytes, want at most %d", len(c.Message), telemetry.MaxMessage)
				}
			}
			b.World.Cloud.OnCreate = func(_ context.Context, claim *apiv1.NodeClaim) error {
				b.providerWrites(claim.Name)
				return nil
			}
			// The change of the claim that the provider made is a request of its own.
			if result, err := b.try("a"); err != nil || result.RequeueAfter != retryBase {
				t.Errorf("after a failed launch: %+v, %v, want another pass after %s", result, err, retryBase)
			}
			b.want("Launched", b.Condition("a", "Launched"), tt.want)
			b.Clock().Step(retryBase)
			b.pass("a")
			b.want("Launched", b.Condition("a", "Launched"), "True Launched")
			b.want("provider's note", b.GetClaim("a").Annotations["ext.karpenter.sh/launch"], "1")
		})
	}
}

// The delay before a failed launch is repeated doubles with each failure.
func TestRetryDelay(t *testing.T) {
	var l launches
	now := time.Unix(1e6, 0)
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		l.end("a", "uid", nil, now)
		if got := l.recall("a", "uid").retryDelay(now); got != want*time.Second {
			t.Errorf("after %d failures the delay is %s, want %s", i+1, got, want*time.Second)
		}
	}
	for name, tt := range map[string]struct {
		now  time.Time
		want time.Duration
	}{
		"later": {now.Add(20 * time.Second), 40 * time.Second}, "over": {now.Add(time.Minute), 0}, "clock put back": {now.Add(-time.Hour), 0},
	} {
		if got := l.recall("a", "uid").retryDelay(tt.now); got != tt.want {
			t.Errorf("%s: the delay is %s, want %s", name, got, tt.want)
		}
	}
	l.end("a", "uid", &cloud.Instance{}, now)
	if got := l.recall("a", "uid").retryDelay(now); got != 0 {
		t.Errorf("after a launch that succeeded the delay is %s, want none", got)
	}
}

func TestTimeouts(t *testing.T) {
	t.Run("launch", func(t *testing.T) {
		b := newBench(t, world.Claim("a"))
		b.World.Cloud.OnCreate = func(context.Context, *apiv1.NodeClaim) error { return errors.New("no") }
		b.Clock().Step(5*time.Minute - time.Second)
		if _, err := b.try("a"); err == nil {
			t.Fatal("want the launch's error")
		}
		b.Clock().Step(time.Second)
		b.pass("a")
		b.wantTimeout("launch_timeout", "")
		b.want("noted reason", b.health.why, "LaunchFailed")
	})
	t.Run("launch that takes all the time", func(t *testing.T) {
		b := newBench(t, world.Claim("a"))
		b.World.Cloud.OnCreate = func(context.Context, *apiv1.NodeClaim) error {
			b.Clock().Step(5 * time.Minute)
			return context.DeadlineExceeded
		}
		if _, err := b.try("a"); err == nil {
			t.Fatal("want the launch's error")
		}
		b.wantTimeout("launch_timeout", "")
	})
	t.Run("registration", func(t *testing.T) {
		b := newBench(t, world.Claim("a"))
		b.pass("a")
		b.Clock().Step(15*time.Minute - time.Second)
		if r := b.pass("a"); r.RequeueAfter != time.Second {
			t.Errorf("looks again after %s, want 1s", r.RequeueAfter)
		}
		b.Clock().Step(time.Second)
		b.pass("a")
		b.wantTimeout("registration_timeout", "spot")
		b.want("Registered", b.Condition("a", "Registered"), "Unknown NodeNotFound")
	})
	t.Run("initialization", func(t *testing.T) {
		b := newBench(t, world.Claim("a"))
		b.pass("a")
		node := world.Node("n1", "fake://zone-a/i-1")
		node.Status.Conditions[0].Status = corev1.ConditionFalse
		b.Add(node)
		b.pass("a")
		b.Clock().Step(time.Hour - time.Second)
		if r := b.pass("a"); r.RequeueAfter != time.Second || !b.GetClaim("a").DeletionTimestamp.IsZero() {
			t.Errorf("looks again after %v, want 1s", r.RequeueAfter)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}, Spec: corev1.PodSpec{NodeName: "n1"}}
		b.Add(pod)
		b.Clock().Step(time.Second)
		if r := b.pass("a"); r.RequeueAfter != 10*time.Minute || !b.GetClaim("a").DeletionTimestamp.IsZero() {
			t.Errorf("a node with a pod is given up or not looked at again: %v", r)
		}
		if err := b.World.Client.Delete(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		b.Clock().Step(10 * time.Minute)
		b.pass("a")
		if b.GetClaim("a").DeletionTimestamp.IsZero() {
			t.Error("a node without pods that is not initialized in time is not given up")
		}
		b.want("Initialized", b.Condition("a", "Initialized"), "Unknown NodeNotReady")
	})
}

// wantTimeout checks that claim a is deleted exactly once for this reason, and that a failure of its NodePool is recorded.
func (b *bench) wantTimeout(reason, capacityType string) {
	b.t.Helper()
	if b.GetClaim("a").DeletionTimestamp.IsZero() {
		b.t.Error("the claim is not being deleted")
	}
	labels := []string{"capacity_type=" + capacityType, "consolidation_policy=", "nodepool=default", "reason=" + reason,
		"termination_mode=graceful"}
	if n := b.Count("karpenter_nodeclaims_disrupted_total", labels...); n != 1 || b.health.failed != 1 {
		b.t.Errorf("%v claims counted and %d failures noted, want 1 and 1", n, b.health.failed)
	}
}

func TestRegistrationHooks(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	wait, labels := 5*time.Second, map[string]string(nil)
	var hookErr error
	b.World.Cloud.OnRegistered = func(*apiv1.NodeClaim) (time.Duration, map[string]string, error) {
		return wait, labels, hookErr
	}
	b.pass("a")
	b.Add(world.Node("n1", "fake://zone-a/i-1"))

	if r := b.pass("a"); r.RequeueAfter != 5*time.Second {
		t.Errorf("asks again after %s, want 5s", r.RequeueAfter)
	}
	b.want("Registered", b.Condition("a", "Registered"), "Unknown RegistrationHookPending")
	node := b.GetNode("n1")
	if len(node.Spec.Taints) != 1 || node.Labels[apiv1.NodeRegisteredLabelKey] != "" || len(node.Finalizers) != 1 {
		t.Errorf("a node that is held back has taints %v, labels %v, finalizers %v",
			node.Spec.Taints, node.Labels, node.Finalizers)
	}

	wait, hookErr = 0, errors.New("throttled")
	if _, err := b.try("a"); !errors.Is(err, hookErr) {
		t.Errorf("error is %v, want the hook's", err)
	}
	b.want("Registered", b.Condition("a", "Registered"), "Unknown RegistrationHookPending")

	hookErr, labels = nil, map[string]string{"example.com/partition": "2"}
	b.pass("a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
	b.want("partition", b.GetNode("n1").Labels["example.com/partition"]+b.GetClaim("a").Labels["example.com/partition"], "22")
	if len(b.GetNode("n1").Spec.Taints) != 0 {
		t.Errorf("taints left: %v", b.GetNode("n1").Spec.Taints)
	}
}

func TestMissingTaintIsTold(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.pass("a")
	node := world.Node("n1", "fake://zone-a/i-1")
	node.Spec.Taints = nil
	b.Add(node)
	b.pass("a")
	b.want("events", b.World.Events.Told(), "Warning UnregisteredTaintMissing a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
}

func TestTerminationDeadlineIsWritten(t *testing.T) {
	claim := world.Claim("a")
	claim.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: time.Hour}
	b := newBench(t, claim)
	b.pass("a")
	b.Add(world.Node("n1", "fake://zone-a/i-1"))
	b.pass("a")
	b.delete(b.GetClaim("a"))
	b.pass("a")
	got := b.GetClaim("a")
	b.want("deadline", got.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey],
		got.DeletionTimestamp.Add(time.Hour).UTC().Format(time.RFC3339))
	b.want("events", b.World.Events.Told(), "Warning TerminationGracePeriodExpiring a")
}

func TestOtherPeoplesClaimsAreLeftAlone(t *testing.T) {
	claim := world.Claim("a")
	claim.Spec.NodeClassRef.Kind = "Other"
	b := newBench(t, claim)
	b.pass("a")
	if got := b.GetClaim("a"); len(got.Finalizers) != 0 || b.World.Cloud.Launches() != 0 {
		t.Errorf("finalizers %v, %d launches, want none", got.Finalizers, b.World.Cloud.Launches())
	}
}

// A claim without a NodePool is launched like any other. Its result is recorded for no NodePool.
func TestStandaloneClaim(t *testing.T) {
	claim := world.Claim("a")
	claim.Labels, claim.OwnerReferences = nil, nil
	b := newBench(t, claim)
	b.pass("a")
	b.Add(world.Node("n1", "fake://zone-a/i-1"))
	b.pass("a")
	b.want("Ready", b.Condition("a", "Ready"), "True Ready")
	if *b.health != (health{}) {
		t.Errorf("noted %+v for a claim without a pool", *b.health)
	}
}

func TestHangingLaunchStopsNoOther(t *testing.T) {
	b := newBench(t, world.Claim("slow"), world.Claim("quick"))
	entered := make(chan struct{})
	b.World.Cloud.OnCreate = func(ctx context.Context, claim *apiv1.NodeClaim) error {
		if claim.Name != "slow" {
			return nil
		}
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}
	done := make(chan error)
	go func() {
		_, err := b.try("slow")
		done <- err
	}()
	<-entered

	b.pass("quick")
	b.want("quick", b.Condition("quick", "Launched"), "True Launched")

	// The deletion of the claim cancels its launch. No instance and no claim remain.
	b.delete(b.GetClaim("slow"))
	b.cancelLaunch(t.Context(), event.UpdateEvent{ObjectNew: b.GetClaim("slow")}, nil)
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("launch called off with %v", err)
	}
	b.pass("slow")
	if b.GetClaim("slow") != nil || b.World.Cloud.Launches() != 1 {
		t.Errorf("%d launches, slow claim %v, want one launch and the claim gone", b.World.Cloud.Launches(), b.GetClaim("slow"))
	}
}
