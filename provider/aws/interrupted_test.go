package aws_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// running launches a claim with its node and the finalizer that holds both until they are drained.
func (w *world) running(t *testing.T, p *aws.Provider, name, capacityType string) *cloud.Instance {
	t.Helper()
	c := w.claim(name)
	c.Finalizers = []string{apiv1.TerminationFinalizer}
	c.Spec.Requirements = append(c.Spec.Requirements, only(apiv1.CapacityTypeLabelKey, capacityType))
	w.store(t, c)
	i := create(t, p, c)
	w.launched(t, name, i)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name}, Spec: corev1.NodeSpec{ProviderID: i.ProviderID}}
	if err := w.kube.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return i
}

func instanceID(i *cloud.Instance) string {
	return i.ProviderID[len(i.ProviderID)-len("i-00000000000000000"):]
}

// The claim of a reclaimed spot instance is deleted at the first message. Its offering is unavailable from then on.
func TestSpotInterruption(t *testing.T) {
	w := newWorld(t)
	p := w.startWith(t, func(c *aws.Config) { c.Settings.InterruptionQueue = clusterName })
	doomed, other := w.running(t, p, "doomed", "spot"), w.running(t, p, "other", "on-demand")
	if _, err := w.control.Interrupt(t.Context(), control.Interrupt{Instance: instanceID(doomed)}); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "interruption", "")
	if w.load(t, "doomed").DeletionTimestamp.IsZero() || !w.load(t, "other").DeletionTimestamp.IsZero() {
		t.Errorf("going: doomed %v, other %v", !w.load(t, "doomed").DeletionTimestamp.IsZero(), !w.load(t, "other").DeletionTimestamp.IsZero())
	}
	var node corev1.Node
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "node-doomed"}, &node); err != nil || len(node.Spec.Taints) != 1 {
		t.Errorf("the doomed node has taints %v, %v", node.Spec.Taints, err)
	}
	list, err := p.InstanceTypes(t.Context(), pool())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range list {
		for _, o := range it.Offerings {
			if it.Name == doomed.Labels[corev1.LabelInstanceTypeStable] && o.Zone == doomed.Labels[corev1.LabelTopologyZone] &&
				o.CapacityType == "spot" && o.Available {
				t.Errorf("%s in %s is still on offer on spot", it.Name, o.Zone)
			}
		}
	}
	if n := len(w.calls(t, "DeleteMessageBatch")); n == 0 {
		t.Error("the messages are still in the queue")
	}

	// The host of the other instance fails, which polling detects.
	if err := w.control.Event(t.Context(), control.Event{
		Instance: instanceID(other), Kind: "host-impaired", Since: control.Duration(3 * time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "interruption.instancestatus", "")
	claim := w.load(t, "other")
	if claim.DeletionTimestamp.IsZero() || claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] == "" {
		t.Errorf("the claim on a failed host: deleted %v, annotations %v", claim.DeletionTimestamp, claim.Annotations)
	}
}

// During a zonal shift, EC2 does not list the instances of the zone. A process that starts then has never seen them. For it they are
// not gone, so the garbage collection keeps their NodeClaims, also until ARC answers.
func TestUnlistedInstanceAfterRestart(t *testing.T) {
	w := newWorldSelling(t, "m5.large")
	shifts := func(c *aws.Config) { c.Settings.EnableZonalShift = true }
	i := w.running(t, w.startWith(t, shifts), "a", apiv1.CapacityTypeOnDemand)
	zone := i.Labels[corev1.LabelTopologyZone]
	if err := w.control.ShiftAway(t.Context(), control.Shift{Zone: zone, For: forever, Unlisted: true}); err != nil {
		t.Fatal(err)
	}
	p := w.startWith(t, shifts)
	refused := func(when string) {
		t.Helper()
		var shifted *instances.ShiftedError
		if _, err := p.Get(t.Context(), i.ProviderID); !errors.As(err, &shifted) {
			t.Errorf("%s, get: %v, want a ShiftedError", when, err)
		}
		if err := p.Delete(t.Context(), w.load(t, "a")); !errors.As(err, &shifted) {
			t.Errorf("%s, delete: %v, want a ShiftedError", when, err)
		}
	}
	refused("before the shift is known")
	w.reconcile(t, "zonalshift", "")
	refused("during the shift")
	if err := w.control.ShiftBack(t.Context(), zone); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "zonalshift", "")
	if _, err := p.Get(t.Context(), i.ProviderID); err != nil {
		t.Errorf("after the shift: %v", err)
	}
}

// While traffic is shifted away from a zone, instances in the zone are neither terminated nor tagged, and stay in the
// list although EC2 does not return them. After the shift, they can be terminated.
func TestZonalShiftKeepsInstances(t *testing.T) {
	w := newWorldSelling(t, "m5.large")
	p := w.startWith(t, func(c *aws.Config) { c.Settings.EnableZonalShift = true })
	c := w.claim("a")
	for n, r := range c.Spec.Requirements {
		if r.Key == corev1.LabelTopologyZone {
			c.Spec.Requirements[n].Values = []string{"us-east-1a"}
		}
	}
	w.store(t, c)
	i := create(t, p, c)
	w.launched(t, "a", i)
	list := func() int {
		t.Helper()
		all, err := p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := list(); n != 1 || len(p.ShiftedZones(t.Context())) != 0 {
		t.Fatalf("at first: %d instances, shifted are %v", n, p.ShiftedZones(t.Context()))
	}
	if err := w.control.ShiftAway(t.Context(), control.Shift{Zone: "us-east-1a", For: forever}); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "zonalshift", "")
	if got := p.ShiftedZones(t.Context()); len(got) != 1 || got[0] != "us-east-1a" {
		t.Errorf("shifted are %v", got)
	}
	before := len(w.calls(t, "DescribeInstances"))
	if _, err := p.Get(t.Context(), i.ProviderID); err != nil || len(w.calls(t, "DescribeInstances")) != before {
		t.Errorf("with a shift: %v after %d calls more", err, len(w.calls(t, "DescribeInstances"))-before)
	}
	var shifted *instances.ShiftedError
	if err := p.Delete(t.Context(), w.load(t, "a")); !errors.As(err, &shifted) {
		t.Errorf("delete: %v", err)
	}
	if _, err := w.compute().TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{instanceID(i)}}); err != nil {
		t.Fatal(err)
	}
	if n := list(); n != 1 {
		t.Errorf("with a shift %d instances are listed", n)
	}
	if err := w.control.ShiftBack(t.Context(), "us-east-1a"); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "zonalshift", "")
	if err := p.Delete(t.Context(), w.load(t, "a")); !errors.Is(err, cloud.ErrNotFound) || list() != 0 {
		t.Errorf("after the shift: %v, %d instances are listed", err, list())
	}
}

// Nothing is launched in a zone that traffic is shifted away from.
func TestZonalShift(t *testing.T) {
	w := newWorld(t)
	p := w.startWith(t, func(c *aws.Config) { c.Settings.EnableZonalShift = true })
	zones := func() map[string]bool {
		t.Helper()
		w.reconcile(t, "zonalshift", "")
		list, err := p.InstanceTypes(t.Context(), pool())
		if err != nil {
			t.Fatal(err)
		}
		open := map[string]bool{}
		for _, it := range list {
			for _, o := range it.Offerings {
				open[o.Zone] = open[o.Zone] || o.Available
			}
		}
		return open
	}
	if open := zones(); !open["us-east-1a"] || !open["us-east-1b"] {
		t.Fatalf("at first: %v", open)
	}
	if err := w.control.ShiftAway(t.Context(), control.Shift{Zone: "us-east-1a", For: forever}); err != nil {
		t.Fatal(err)
	}
	if open := zones(); open["us-east-1a"] || !open["us-east-1b"] {
		t.Errorf("with a shift: %v", open)
	}
	if err := w.control.ShiftBack(t.Context(), "us-east-1a"); err != nil {
		t.Fatal(err)
	}
	if open := zones(); !open["us-east-1a"] {
		t.Errorf("after the shift: %v", open)
	}
}
