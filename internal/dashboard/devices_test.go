package dashboard_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// Pods with ResourceClaims show the devices that they request and why they have no node, among the pending pods and in the
// capacity. What cannot be read is unknown, and never zero.
func TestDevices(t *testing.T) {
	fleet, server, clock := generated(t, 10, 100)
	for range 20 {
		fleet.AddClaiming()
	}
	fleet.Decide()
	clock.Step(time.Minute)
	server.Refresh(t.Context())
	_, body := ask(t, server.Handler(), "GET /api/v1/capacity") // reads the claims
	devices := decode[view.Capacity](t, body).Devices
	if len(devices.Classes) != 1 || devices.Problem != "" {
		t.Fatalf("%+v", devices)
	}
	d := devices.Classes[0]
	if d.Class != "gpu.example.com" || d.PodsPending < 20 || d.Unmet != 2*int64(d.PodsPending) || d.Met != 0 || d.Uncounted != 0 || !strings.Contains(d.Reason, "resourceClaims") {
		t.Errorf("%+v", d)
	}
	clock.Step(time.Minute)
	server.Refresh(t.Context())
	_, body = ask(t, server.Handler(), "GET /api/v1/pending")
	found := 0
	for _, g := range decode[view.PendingMessage](t, body).Groups {
		if g.Owner == "ml/StatefulSet/notebook" {
			found += g.Count
			if len(g.Devices) != 1 || g.Devices[0].Class != "gpu.example.com" || *g.Devices[0].Count != 2 || g.Outcome != view.OutcomeRefused {
				t.Errorf("%+v", g)
			}
		} else if len(g.Devices) > 0 {
			t.Errorf("%s has devices", g.Pod)
		}
	}
	if found != d.PodsPending {
		t.Errorf("%d pending pods, want %d", found, d.PodsPending)
	}

	o := fleet.Options()
	o.Claims = func(context.Context) (view.Claims, error) {
		return view.Claims{}, errors.New("list ResourceClaims: forbidden")
	}
	_, body = ask(t, serve(t, o).Handler(), "GET /api/v1/capacity")
	devices = decode[view.Capacity](t, body).Devices
	if devices.Problem != "list ResourceClaims: forbidden" || len(devices.Classes) != 1 {
		t.Fatalf("%+v", devices)
	}
	if d := devices.Classes[0]; d.Class != "" || d.Unmet != 0 || d.Uncounted != d.PodsPending {
		t.Errorf("%+v", d)
	}
}

// A claim that several pods share counts once. Devices are met once the claim is allocated. Alternatives with different
// numbers have no number.
func TestDeviceDemand(t *testing.T) {
	exactly := func(class string, count int64) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{Name: class, Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}}
	}
	sub := func(class string, count int64) resourcev1.DeviceSubRequest {
		return resourcev1.DeviceSubRequest{Name: class, DeviceClassName: class, Count: count}
	}
	claim := func(name string, allocated bool, requests ...resourcev1.DeviceRequest) resourcev1.ResourceClaim {
		c := resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
		c.Spec.Devices.Requests = requests
		if allocated {
			c.Status.Allocation = &resourcev1.AllocationResult{}
		}
		return c
	}
	claims := view.NewClaims([]resourcev1.ResourceClaim{
		claim("shared", true, exactly("gpu", 3)), claim("own", false, exactly("gpu", 1), exactly("nic", 0)),
		claim("either", false, resourcev1.DeviceRequest{FirstAvailable: []resourcev1.DeviceSubRequest{sub("big", 1), sub("small", 2)}}),
		claim("all", false, resourcev1.DeviceRequest{Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "fpga", AllocationMode: resourcev1.DeviceAllocationModeAll}}),
	}, nil)
	var d model.Delta
	for name, uses := range map[string][]string{"p1": {"shared"}, "p2": {"shared", "own"}, "p3": {"either", "all"}, "p4": {"gone"}} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
		for _, u := range uses {
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: u, ResourceClaimName: new(u)})
		}
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		d.Pods = append(d.Pods, pod)
	}
	got := view.DevicesOf(model.Compile(d), claims, nil).Classes
	want := []view.DeviceDemand{
		{Class: "gpu", Met: 3, Unmet: 1, PodsPending: 2}, {Class: "", Uncounted: 1, PodsPending: 1}, {Class: "big or small", Uncounted: 1, PodsPending: 1},
		{Class: "fpga", Uncounted: 1, PodsPending: 1}, {Class: "nic", Unmet: 1, PodsPending: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
