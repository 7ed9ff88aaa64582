package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

func TestRegister(t *testing.T) {
	for _, dra := range []bool{false, true} {
		mgr := world.Manager(t)
		if err := (&Controller{Client: mgr.GetClient(), Cloud: &fakecloud.Cloud{}, DRA: dra}).Register(mgr); err != nil {
			t.Fatal(err)
		}
	}
}

// A node is not initialized before the drivers of its dynamic resources have published their ResourceSlices for it.
func TestDynamicResources(t *testing.T) {
	claim := world.Claim("a")
	claim.Annotations = map[string]string{apiv1.RequestedDRADriversAnnotationKey: "gpu.example.com"}
	b := newBench(t, claim)
	b.DRA = true
	b.pass("a")
	b.Add(world.Node("n1", "fake://zone-a/i-1"))
	elsewhere := slice("s0", "n2")
	b.Add(elsewhere)
	b.pass("a")
	b.want("Initialized", b.Condition("a", "Initialized"), "Unknown DRADriverPoolsNotPublished")

	here := slice("s1", "n1")
	b.Add(here)
	if got := b.fromSlice(t.Context(), here); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("a slice of the node wakes %v, want claim a", got)
	}
	if got := b.fromSlice(t.Context(), elsewhere); got != nil {
		t.Errorf("a slice of a node that is not there wakes %v", got)
	}
	b.pass("a")
	b.want("Initialized", b.Condition("a", "Initialized"), "True Initialized")
}

// A ResourceSlice may have a node selector instead of a node name. It counts for the Node that owns it.
func TestOwnedSlices(t *testing.T) {
	claim := world.Claim("a")
	claim.Annotations = map[string]string{apiv1.RequestedDRADriversAnnotationKey: "gpu.example.com"}
	b := newBench(t, claim)
	b.DRA = true
	b.pass("a")
	node := world.Node("n1", "fake://zone-a/i-1")
	node.UID = "n1-uid"
	b.Add(node)
	owned := func(name string, uid types.UID) *resourcev1.ResourceSlice {
		s := slice(name, "")
		s.Spec.NodeName = nil
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: uid}}
		return s
	}
	b.Add(owned("s0", "earlier"))
	b.pass("a")
	b.want("Initialized", b.Condition("a", "Initialized"), "Unknown DRADriverPoolsNotPublished")

	here := owned("s1", node.UID)
	b.Add(here)
	if got := b.fromSlice(t.Context(), here); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("a slice that the node owns wakes %v, want claim a", got)
	}
	b.pass("a")
	b.want("Initialized", b.Condition("a", "Initialized"), "True Initialized")
}

// nominating returns a claim whose annotation names the node to which its pods are nominated; empty means that they are not
// nominated yet.
func nominating(to string) *apiv1.NodeClaim {
	claim := world.Claim("a")
	claim.Annotations = map[string]string{apiv1.PodsNominatedToAnnotationKey: to}
	return claim
}

// join adds a node that joins now.
func (b *bench) join(name string) {
	b.t.Helper()
	node := world.Node(name, "fake://zone-a/i-1")
	node.CreationTimestamp = metav1.NewTime(b.World.Clock.Now())
	b.Add(node)
}

// closed returns the effect of the node's taint unregistered, empty if there is none.
func (b *bench) closed(node string) string {
	b.t.Helper()
	for _, t := range b.GetNode(node).Spec.Taints {
		if t.Key == apiv1.UnregisteredTaintKey {
			return string(t.Effect)
		}
	}
	return ""
}

// The node name that the cloud returns at launch is written to the claim.
func TestNodeNameIsWritten(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.World.Cloud.NodeName = "n1"
	b.pass("a")
	b.want("node name", b.GetClaim("a").Annotations[apiv1.NodeNameAnnotationKey], "n1")
}

// A node waits for the nominations of the pods that were planned onto it. During the wait, its taint evicts no pods.
func TestRegistrationWaitsForNominations(t *testing.T) {
	b := newBench(t, nominating(""))
	b.pass("a")
	b.join("n1")
	if r := b.pass("a"); r.RequeueAfter != 30*time.Second {
		t.Errorf("looks again after %v, want 30s", r.RequeueAfter)
	}
	b.want("Registered", b.Condition("a", "Registered"), "Unknown NominationsPending")
	b.want("taint", b.closed("n1"), "NoSchedule")
	b.want("owner", b.GetNode("n1").OwnerReferences[0].Name, "a")

	claim := b.GetClaim("a")
	claim.Annotations[apiv1.PodsNominatedToAnnotationKey] = "n1"
	if err := b.World.Client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.pass("a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
	b.want("taint", b.closed("n1"), "")
}

// If the pods of a node get no nominations, the node is registered 30 seconds after it has joined. A restart does not delay that.
func TestNominationsTimeOut(t *testing.T) {
	b := newBench(t, nominating(""))
	b.pass("a")
	b.join("n1")
	b.pass("a")
	b.World.Clock.Step(20 * time.Second)
	b.restart()
	if r := b.pass("a"); r.RequeueAfter != 10*time.Second {
		t.Errorf("looks again after %v, want 10s", r.RequeueAfter)
	}
	b.want("Registered", b.Condition("a", "Registered"), "Unknown NominationsPending")
	b.World.Clock.Step(10 * time.Second)
	b.pass("a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
}

// If pods were nominated while the machine booted, the node is registered in the first pass that finds it.
func TestNominatedBeforeTheNodeJoins(t *testing.T) {
	b := newBench(t, nominating("n1"))
	b.pass("a")
	b.join("n1")
	b.pass("a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
	b.want("taint", b.closed("n1"), "")
}

// If another writer changes the node during the pass, the node is registered in the same pass and keeps that change.
func TestRegisteredDespiteOtherWriters(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.pass("a")
	b.join("n1")
	b.World.Cloud.OnRegistered = func(*apiv1.NodeClaim) (time.Duration, map[string]string, error) {
		fresh := b.GetNode("n1")
		fresh.Annotations = map[string]string{"example.com/seen": "yes"}
		fresh.Spec.Taints = append(fresh.Spec.Taints, corev1.Taint{Key: "example.com/slow", Effect: corev1.TaintEffectNoSchedule})
		return 0, nil, b.World.Client.Update(t.Context(), fresh)
	}
	b.pass("a")
	n := b.GetNode("n1")
	var taints []string
	for _, taint := range n.Spec.Taints {
		taints = append(taints, taint.Key)
	}
	b.want("taints", strings.Join(taints, " "), "example.com/slow")
	b.want("annotation", n.Annotations["example.com/seen"], "yes")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
}

// writeStatus makes another writer change the claim's status during the pass.
func (b *bench) writeStatus(change func(*apiv1.NodeClaim)) {
	b.World.Cloud.OnRegistered = func(claim *apiv1.NodeClaim) (time.Duration, map[string]string, error) {
		fresh := b.GetClaim(claim.Name)
		change(fresh)
		return 0, nil, b.World.Client.Status().Update(b.t.Context(), fresh)
	}
}

// The status that a pass has computed is written, and changes that others wrote during the pass are kept.
func TestStatusDespiteOtherWriters(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.pass("a")
	b.join("n1")
	b.writeStatus(func(claim *apiv1.NodeClaim) {
		claim.Status.LastPodEventTime = metav1.NewTime(b.World.Clock.Now().Truncate(time.Second))
		condition.SetTrue(claim, apiv1.ConditionTypeConsolidatable, b.World.Clock.Now())
	})
	b.pass("a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
	b.want("Initialized", b.Condition("a", "Initialized"), "True Initialized")
	b.want("Consolidatable", b.Condition("a", "Consolidatable"), "True Consolidatable")
	claim := b.GetClaim("a")
	b.want("node", claim.Status.NodeName, "n1")
	if claim.Status.LastPodEventTime.IsZero() {
		t.Error("what others have written is gone")
	}

	claim.Status.Conditions = nil // another writer removes all conditions
	if err := b.World.Client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.pass("a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
}

// A pass with a stale cache registers a node again, but does not count it twice.
func TestCountedOnce(t *testing.T) {
	for _, known := range []bool{false, true} {
		b := newBench(t, world.Claim("a"))
		b.pass("a")
		b.join("n1")
		b.writeStatus(func(claim *apiv1.NodeClaim) {
			condition.SetTrue(claim, apiv1.ConditionTypeConsolidatable, b.World.Clock.Now())
			if known {
				condition.SetTrue(claim, apiv1.ConditionTypeRegistered, b.World.Clock.Now())
			}
		})
		b.pass("a")
		b.want("Registered", b.Condition("a", "Registered"), "True Registered")
		if got := testutil.CollectAndCount(b.World.Metrics.Nodes.CreatedTotal) > 0; got == known {
			t.Errorf("the node was counted: %v, though it was known to be registered: %v", got, known)
		}
	}
}

// A launch without a response is cancelled at its deadline, and the claim is deleted.
func TestLaunchIsCalledOffAtTheDeadline(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	entered := make(chan struct{})
	b.World.Cloud.OnCreate = func(ctx context.Context, _ *apiv1.NodeClaim) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}
	done := make(chan error)
	go func() {
		_, err := b.try("a")
		done <- err
	}()
	<-entered
	b.World.Clock.Step(5 * time.Minute)
	if err := <-done; !errors.Is(err, errNoAnswer) {
		t.Errorf("launch called off with %v, want %v", err, errNoAnswer)
	}
	if claim := b.GetClaim("a"); claim != nil && claim.DeletionTimestamp.IsZero() {
		t.Error("the claim is not given up")
	}
}

// slice returns a driver's only ResourceSlice of a node.
func slice(name, node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: new(node),
			Pool: resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1},
		},
	}
}
