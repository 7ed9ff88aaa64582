package reboot

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

// A rig is a world with a node whose reboot was requested, and records the calls of the cloud.
type rig struct {
	*testing.T
	*world.World
	c     *Controller
	calls []string
	err   error // error that the cloud returns
}

func newRig(t *testing.T, bound string, pods ...string) *rig {
	t.Helper()
	claim := world.Claim("a")
	claim.Status.ProviderID = "fake:///a"
	claim.Annotations = map[string]string{apiv1.RebootTerminationGracePeriodAnnotationKey: bound}
	node := world.Node("node-a", "fake:///a")
	node.Labels = map[string]string{apiv1.NodeInitializedLabelKey: "true"}
	node.Status.NodeInfo.BootID = "old"
	objects := []client.Object{claim, node}
	for _, name := range pods {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		p.Spec.NodeName = "node-a"
		objects = append(objects, p)
	}
	r := &rig{T: t, World: world.New(t, objects...)}
	r.Cloud.OnReboot = func(_ context.Context, _ *apiv1.NodeClaim, operation string) error {
		r.calls = append(r.calls, operation)
		return r.err
	}
	stored := r.GetClaim("a")
	for _, kind := range []string{apiv1.ConditionTypeLaunched, apiv1.ConditionTypeRegistered, apiv1.ConditionTypeInitialized} {
		condition.SetTrue(stored, kind, r.Clock.Now())
	}
	condition.SetTrueWithReason(stored, apiv1.ConditionTypeDisruptionReason, "Unhealthy", "", r.Clock.Now())
	condition.SetTrueWithReason(stored, apiv1.ConditionTypeRebooting, apiv1.ReasonRebootRequested, "rebooting for GPU/XID48", r.Clock.Now())
	if err := r.Client.Status().Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	r.restart()
	return r
}

// restart replaces the controller by a new one, as a new process would.
func (r *rig) restart() {
	r.c = &Controller{Client: r.Client, Clock: r.Clock, Events: r.Events, Metrics: r.Metrics, Cloud: r.Cloud}
}

// after advances the clock and reconciles until no request is due at once.
func (r *rig) after(d time.Duration) {
	r.Helper()
	r.Clock.Step(d)
	for range 5 {
		result, err := r.c.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "a"}})
		if err != nil {
			r.Fatal(err)
		}
		if result.RequeueAfter == 0 || result.RequeueAfter >= time.Second {
			return
		}
	}
}

// boot sets a new boot ID and the status of the node's condition Ready.
func (r *rig) boot(status corev1.ConditionStatus) {
	r.Helper()
	n := r.GetNode("node-a")
	n.Status.NodeInfo.BootID = "new"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	if err := r.Client.Status().Update(r.Context(), n); err != nil {
		r.Fatal(err)
	}
}

// state returns the reason of the condition Rebooting, whether the node has the taint, and the number of calls of the cloud.
func (r *rig) state() string {
	c := condition.Get(r.GetClaim("a"), apiv1.ConditionTypeRebooting)
	words := []string{c.Reason}
	for _, t := range r.GetNode("node-a").Spec.Taints {
		if t.Key == apiv1.RebootingTaintKey {
			words = append(words, "fenced")
		}
	}
	return strings.Join(append(words, strings.Repeat("x", len(r.calls))), " ")
}

func (r *rig) want(state string) {
	r.Helper()
	if got := r.state(); got != state {
		r.Errorf("after %s: %q, want %q", r.Clock.Since(world.Start), got, state)
	}
}

// count returns the number of reboots that ended with the result.
func (r *rig) count(result string) float64 {
	return r.Count("karpenter_nodes_reboots_total", "result="+result)
}

func TestRebootSucceeds(t *testing.T) {
	r := newRig(t, "5m0s")
	r.after(time.Second)
	r.want("RebootRequested fenced ")
	r.after(4 * time.Second)
	r.want("RebootIssued fenced x")
	if c := condition.Get(r.GetClaim("a"), apiv1.ConditionTypeInitialized); c.Status != metav1.ConditionUnknown || c.Reason != apiv1.ReasonRebooting {
		t.Errorf("Initialized is %+v", c)
	}
	if _, labelled := r.GetNode("node-a").Labels[apiv1.NodeInitializedLabelKey]; labelled {
		t.Error("the node counts as initialized")
	}
	r.boot(corev1.ConditionFalse)
	r.after(time.Minute)
	r.want("RebootIssued x")
	if !strings.Contains(r.Events.Told(), "RebootObserved") {
		t.Errorf("told %s", r.Events.Told())
	}
	r.boot(corev1.ConditionTrue)
	r.after(time.Minute)
	r.want("RebootSucceeded x")
	claim := r.GetClaim("a")
	if condition.Get(claim, apiv1.ConditionTypeDisruptionReason) != nil || claim.Annotations[apiv1.RebootPreBootIDAnnotationKey] != "" {
		t.Errorf("marks are left: %v", claim.Annotations)
	}
	if r.count("succeeded") != 1 {
		t.Error("the reboot is not counted")
	}
}

// A node that was never initialized has the full time to become ready: Initialized is Unknown since long before the reboot.
func TestRebootBeforeInitialization(t *testing.T) {
	for name, missing := range map[string]bool{"boots": false, "is missing": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "0s")
			claim := r.GetClaim("a")
			condition.SetUnknown(claim, apiv1.ConditionTypeInitialized, "NodeNotReady", "", r.Clock.Now().Add(-28*time.Minute))
			if err := r.Client.Status().Update(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			r.after(5 * time.Second)
			r.want("RebootIssued fenced x")
			if missing {
				if err := r.Client.Delete(t.Context(), r.GetNode("node-a")); err != nil {
					t.Fatal(err)
				}
				r.after(19 * time.Minute)
				if got := r.Condition("a", apiv1.ConditionTypeRebooting); got != "True RebootIssued" {
					t.Errorf("after %s the reboot is %s", r.Clock.Since(world.Start), got)
				}
				return
			}
			r.boot(corev1.ConditionTrue)
			r.after(2 * time.Minute)
			r.want("RebootSucceeded x")
			if got := r.seconds("karpenter_nodes_reboot_recovery_duration_seconds"); got != 120 {
				t.Errorf("recovery took %v seconds, want 120", got)
			}
		})
	}
}

// seconds returns the sum of the observations of a histogram without labels.
func (r *rig) seconds(name string) float64 {
	r.Helper()
	families, err := r.Registry.Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetHistogram().GetSampleSum()
		}
	}
	return 0
}

// A new leader continues the reboot. The time limit counts from the first call of the cloud, across all leaders.
func TestRebootIsGivenUp(t *testing.T) {
	r := newRig(t, "0s")
	r.err = errors.New("throttled")
	r.after(5 * time.Second)
	r.want("RebootRequested fenced x")
	r.restart()
	r.after(4 * time.Minute)
	r.want("RebootRequested fenced xx")
	if r.calls[0] != r.calls[1] {
		t.Errorf("operations differ: %v", r.calls)
	}
	r.restart()
	r.after(time.Minute)
	r.want("RebootFailed xx")
	if !r.GetClaim("a").DeletionTimestamp.IsZero() || r.count("provider_error") != 1 {
		t.Error("the node is to stay until repair replaces it")
	}
}

func TestRebootEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		bound  string
		err    error
		wait   time.Duration
		result string
	}{
		"not supported": {"0s", cloud.ErrRebootNotSupported, 0, "provider_error"},
		"refused":       {"0s", &cloud.RebootError{Err: errors.New("no permission")}, 0, "provider_error"},
		"never ready":   {"0s", nil, 20 * time.Minute, "recovery_timeout"},
		"bad bound":     {"soon", nil, 0, "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.bound)
			r.err = tt.err
			r.after(5 * time.Second)
			r.after(tt.wait)
			if got := condition.Get(r.GetClaim("a"), apiv1.ConditionTypeRebooting).Reason; got != apiv1.ReasonRebootFailed {
				t.Errorf("condition is %s", got)
			}
			if r.count(tt.result) != 1 || !strings.Contains(r.Events.Told(), "RebootFailed") {
				t.Errorf("result is not %s, told %s", tt.result, r.Events.Told())
			}
			if strings.Contains(r.state(), "fenced") {
				t.Error("the node keeps the taint")
			}
		})
	}
}

// If the instance no longer exists, the claim is deleted.
func TestRebootOfMissingInstance(t *testing.T) {
	r := newRig(t, "0s")
	r.err = cloud.ErrNotFound
	r.after(5 * time.Second)
	claim := &apiv1.NodeClaim{}
	if err := r.Client.Get(t.Context(), client.ObjectKey{Name: "a"}, claim); err == nil && claim.DeletionTimestamp.IsZero() {
		t.Error("the claim stays")
	}
}

// Pods are evicted until the deadline. Pods that remain then are restarted with the node. With a limit of zero, no pod is
// evicted.
func TestDrainBeforeReboot(t *testing.T) {
	r := newRig(t, "1m0s", "web")
	held := &corev1.Pod{}
	if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, held); err != nil {
		t.Fatal(err)
	}
	held.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
	if err := r.Client.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	r.after(30 * time.Second)
	r.want("RebootRequested fenced ")
	r.after(30 * time.Second)
	r.want("RebootIssued fenced x")
}

// Evictions before a reboot are counted like those of other drains, and a refused one has an event.
func TestEvictionsBeforeReboot(t *testing.T) {
	r := newRig(t, "1m0s", "held", "web")
	r.c.Client = interceptor.NewClient(r.Client, interceptor.Funcs{
		SubResourceCreate: func(
			ctx context.Context, c client.Client, sub string, o, body client.Object, opts ...client.SubResourceCreateOption,
		) error {
			if o.GetName() == "held" {
				return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
			}
			return c.SubResource(sub).Create(ctx, o, body, opts...)
		},
	})
	r.after(time.Second)
	for code, want := range map[string]bool{"200": true, "429": true, "500": false} {
		if got := r.Count("karpenter_pods_eviction_requests_total", "code="+code) > 0; got != want {
			t.Errorf("requests with code %s: %v, want %v", code, got, want)
		}
	}
	if n := r.Count("karpenter_pods_drained_total", "reason=Unhealthy"); n != 1 {
		t.Errorf("%v pods are counted as drained, want 1", n)
	}
	want := "Warning FailedDraining node-a"
	if told := r.Events.Told(); !strings.Contains(told, want) {
		t.Errorf("told %s, want %s", told, want)
	}
}

// If the write of the result fails, its repetition has the same result. If the write of the annotations after it fails, they
// are removed later, and the result is counted once.
func TestEndIsRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error // of the cloud
		status bool  // the write of the status fails, else that of the annotations
		result string
	}{
		"result of a refused reboot":      {cloud.ErrRebootNotSupported, true, "provider_error"},
		"annotations of a refused reboot": {cloud.ErrRebootNotSupported, false, "provider_error"},
		"result of a timeout":             {nil, true, "recovery_timeout"},
		"annotations of a timeout":        {nil, false, "recovery_timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "0s")
			r.err = tt.err
			wait := 5 * time.Second
			if tt.err == nil {
				r.after(wait)
				wait = 20 * time.Minute
			}
			r.refuseEnd(tt.status)
			r.after(wait)
			if tt.err == nil { // the node is ready, but has not booted again
				n := r.GetNode("node-a")
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
				if err := r.Client.Status().Update(t.Context(), n); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				r.after(time.Minute)
			}
			r.want(map[bool]string{true: "RebootFailed xx", false: "RebootFailed x"}[tt.err != nil && tt.status])
			if r.count(tt.result) != 1 {
				t.Errorf("the result is counted %v times", r.count(tt.result))
			}
			for _, key := range []string{apiv1.RebootPreBootIDAnnotationKey, apiv1.RebootCalledAnnotationKey} {
				if v, left := r.GetClaim("a").Annotations[key]; left {
					t.Errorf("annotation %s=%s is left", key, v)
				}
			}
		})
	}
}

// refuseEnd makes the controller's first write of the result of a reboot a conflict: that of the status, or else that of the
// annotations.
func (r *rig) refuseEnd(status bool) {
	refused := false
	send := func(ofStatus bool, o client.Object, send func() error) error {
		claim, ok := o.(*apiv1.NodeClaim)
		if !ok || refused || ofStatus != status || condition.IsTrue(claim, apiv1.ConditionTypeRebooting) {
			return send()
		}
		refused = true
		return apierrors.NewConflict(schema.GroupResource{Resource: "nodeclaims"}, o.GetName(), nil)
	}
	r.c.Client = interceptor.NewClient(r.Client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return send(false, o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return send(true, o, func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}

// The claim of a node that no longer exists is deleted, even if the first attempt fails. It has no deadline before it is deleted.
func TestEndOfMissingNodeIsRepeated(t *testing.T) {
	r := newRig(t, "0s")
	r.after(5 * time.Second)
	r.want("RebootIssued fenced x")
	if err := r.Client.Delete(t.Context(), r.GetNode("node-a")); err != nil {
		t.Fatal(err)
	}
	refused := false
	r.c.Client = interceptor.NewClient(r.Client, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if !refused {
				refused = true
				return apierrors.NewConflict(schema.GroupResource{Resource: "nodeclaims"}, o.GetName(), nil)
			}
			return c.Delete(ctx, o, opts...)
		},
	})
	r.after(21 * time.Minute)
	if claim := r.GetClaim("a"); !refused || !claim.DeletionTimestamp.IsZero() || claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] != "" {
		t.Fatalf("after a refused deletion the claim is %v", claim.ObjectMeta)
	}
	r.after(time.Minute)
	claim := &apiv1.NodeClaim{}
	if err := r.Client.Get(t.Context(), client.ObjectKey{Name: "a"}, claim); err == nil &&
		(claim.DeletionTimestamp.IsZero() || claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] == "") {
		t.Errorf("after the repetition the claim is %v", claim.ObjectMeta)
	}
	if r.count("recovery_timeout") != 1 {
		t.Errorf("the result is counted %v times", r.count("recovery_timeout"))
	}
}

func TestRegister(t *testing.T) {
	mgr := world.Manager(t)
	if err := (&Controller{Client: mgr.GetClient(), Cloud: &fakecloud.Cloud{}}).Register(mgr); err != nil {
		t.Fatal(err)
	}
}
