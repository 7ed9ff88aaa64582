package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// A node is not initialized before the drivers of its dynamic resources have published on it.
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

// usher notes whom it was told of, and how the node was then.
type usher struct {
	b    *bench
	told []string
}

func (u *usher) Join(_ context.Context, claim *apiv1.NodeClaim, node *corev1.Node) func(*corev1.Node) {
	note := func(*corev1.Node) {
		closed := "no"
		for _, taint := range u.b.GetNode(node.Name).Spec.Taints {
			if taint.Key == apiv1.UnregisteredTaintKey {
				closed = string(taint.Effect)
			}
		}
		u.told = append(u.told, fmt.Sprintf("%s %s closed %s", claim.Name, node.Name, closed))
	}
	note(nil)
	return note
}

// Pods are shown to a node once, while it is still closed to them, and when nobody could be evicted any more for coming to it.
func TestUsher(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	u := &usher{b: b}
	b.Usher = u
	b.pass("a")
	b.Add(world.Node("n1", "fake://zone-a/i-1"))
	b.pass("a")
	b.pass("a")
	b.want("told", strings.Join(u.told, ", "), "a n1 closed NoSchedule, a n1 closed no")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
}

// meddler writes the node while pods are shown to it, as others do with a node that has just joined.
type meddler struct{ b *bench }

func (m meddler) Join(ctx context.Context, _ *apiv1.NodeClaim, node *corev1.Node) func(*corev1.Node) {
	fresh := m.b.GetNode(node.Name)
	fresh.Annotations = map[string]string{"example.com/seen": "yes"}
	fresh.Spec.Taints = append(fresh.Spec.Taints, corev1.Taint{Key: "example.com/slow", Effect: corev1.TaintEffectNoSchedule})
	if err := m.b.World.Client.Update(ctx, fresh); err != nil {
		m.b.t.Error(err)
	}
	return func(*corev1.Node) {}
}

// unread is an API server that nobody has to ask.
type unread struct {
	client.Reader
	t *testing.T
}

func (u unread) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	u.t.Errorf("%s is read from the API server, though the cache has it", key)
	return nil
}

// A node that others write meanwhile is opened in the same pass and by one write, and keeps what they have written: pods were
// shown to it.
func TestOpenedThoughOthersWrite(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.Usher = meddler{b}
	b.Live = unread{t: t}
	b.pass("a")
	b.Add(world.Node("n1", "fake://zone-a/i-1"))
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

// slice is a driver's only slice on a node.
// witness writes the claim's status as soon as its node is open, as those do who see pods come.
type witness struct {
	b     *bench
	joins int
	// registered has it write what a pass before has found out, which the cache did not show.
	registered bool
}

func (w *witness) Join(ctx context.Context, claim *apiv1.NodeClaim, _ *corev1.Node) func(*corev1.Node) {
	w.joins++
	return func(stored *corev1.Node) {
		if stored == nil {
			w.b.t.Error("the node was not opened")
		}
		fresh := w.b.GetClaim(claim.Name)
		fresh.Status.LastPodEventTime = metav1.NewTime(w.b.World.Clock.Now().Truncate(time.Second))
		condition.SetTrue(fresh, apiv1.ConditionTypeConsolidatable, w.b.World.Clock.Now())
		if w.registered {
			condition.SetTrue(fresh, apiv1.ConditionTypeRegistered, w.b.World.Clock.Now())
		}
		if err := w.b.World.Client.Status().Update(ctx, fresh); err != nil {
			w.b.t.Error(err)
		}
	}
}

// What a pass has found out is written beside what others write meanwhile, and pods are not shown to the node a second time.
func TestStatusThoughOthersWrite(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	w := &witness{b: b}
	b.Usher = w
	b.pass("a")
	b.Add(world.Node("n1", "fake://zone-a/i-1"))
	b.pass("a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
	b.want("Initialized", b.Condition("a", "Initialized"), "True Initialized")
	b.want("Consolidatable", b.Condition("a", "Consolidatable"), "True Consolidatable")
	claim := b.GetClaim("a")
	b.want("node", claim.Status.NodeName, "n1")
	if claim.Status.LastPodEventTime.IsZero() {
		t.Error("what others have written is gone")
	}

	claim.Status.Conditions = nil // as if all of it had got lost
	if err := b.World.Client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.pass("a")
	b.want("Registered", b.Condition("a", "Registered"), "True Registered")
	if w.joins != 1 {
		t.Errorf("pods were shown to the node %d times, want once", w.joins)
	}
}

// A pass whose cache is behind finds out once more what is known, and does not count it.
func TestCountedOnce(t *testing.T) {
	for _, known := range []bool{false, true} {
		b := newBench(t, world.Claim("a"))
		b.Usher = &witness{b: b, registered: known}
		b.pass("a")
		b.Add(world.Node("n1", "fake://zone-a/i-1"))
		b.pass("a")
		b.want("Registered", b.Condition("a", "Registered"), "True Registered")
		if got := testutil.CollectAndCount(b.World.Metrics.Nodes.CreatedTotal) > 0; got == known {
			t.Errorf("the node was counted: %v, though it was known to be registered: %v", got, known)
		}
	}
}

func slice(name, node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: new(node),
			Pool: resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1},
		},
	}
}
