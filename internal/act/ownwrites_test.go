package act

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// lagging is a client that reads the node and the claim in their state at the last call of refresh.
type lagging struct {
	client.Client
	node    corev1.Node
	claim   apiv1.NodeClaim
	deletes int
}

func (l *lagging) refresh(t *testing.T) {
	t.Helper()
	for o, name := range map[client.Object]string{&l.node: "n", &l.claim: "c"} {
		if err := l.Client.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *lagging) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *corev1.Node:
		l.node.DeepCopyInto(o)
	case *apiv1.NodeClaim:
		l.claim.DeepCopyInto(o)
	}
	return nil
}

func (l *lagging) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *corev1.NodeList:
		list.Items = []corev1.Node{*l.node.DeepCopy()}
	case *apiv1.NodeClaimList:
		list.Items = []apiv1.NodeClaim{*l.claim.DeepCopy()}
	}
	return nil
}

func newLagging(t *testing.T) (*lagging, client.Client, *clocktesting.FakeClock) {
	t.Helper()
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	l := &lagging{}
	l.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&apiv1.NodeClaim{}).WithObjects(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}},
		&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", Finalizers: []string{apiv1.TerminationFinalizer}}},
	).Build(), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			l.deletes++
			return c.Delete(ctx, o, opts...)
		},
	})
	l.refresh(t)
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return l, OwnWrites(l, clock), clock
}

func label(t *testing.T, c client.Client, o client.Object, value string) {
	t.Helper()
	before := o.DeepCopyObject().(client.Object)
	o.SetLabels(map[string]string{"own": value})
	if err := Patch(t.Context(), c, before, o); err != nil {
		t.Fatal(err)
	}
}

// read returns the label of the node and of the claim, read by Get and by List, and the node name in the claim's status.
func read(t *testing.T, c client.Client) [5]string {
	t.Helper()
	var node corev1.Node
	var claim apiv1.NodeClaim
	var nodes corev1.NodeList
	var claims apiv1.NodeClaimList
	for _, err := range []error{
		c.Get(t.Context(), client.ObjectKey{Name: "n"}, &node), c.Get(t.Context(), client.ObjectKey{Name: "c"}, &claim),
		c.List(t.Context(), &nodes), c.List(t.Context(), &claims),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return [5]string{
		node.Labels["own"], claim.Labels["own"], nodes.Items[0].Labels["own"], claims.Items[0].Labels["own"], claim.Status.NodeName,
	}
}

func TestOwnWritesAreRead(t *testing.T) {
	cache, c, clock := newLagging(t)
	want := func(when string, want [5]string) {
		t.Helper()
		if got := read(t, c); got != want {
			t.Errorf("%s: read %q, want %q", when, got, want)
		}
	}
	label(t, c, cache.node.DeepCopy(), "1")
	claim := cache.claim.DeepCopy()
	label(t, c, claim, "1")
	before := claim.DeepCopy()
	claim.Status.NodeName = "n"
	if err := PatchStatus(t.Context(), c, before, claim); err != nil {
		t.Fatal(err)
	}
	own := [5]string{"1", "1", "1", "1", "n"}
	want("before the watch", own)
	want("once more", own)

	// Another client writes. After the watch has delivered that write, no older version is read.
	other := &corev1.Node{}
	if err := cache.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, other); err != nil {
		t.Fatal(err)
	}
	label(t, cache.Client, other, "2")
	want("before the watch shows what others wrote", own)
	cache.refresh(t)
	want("after the watch", [5]string{"2", "1", "2", "1", "n"})

	// The response to a patch is not used for an object with the same name and another UID.
	label(t, c, other, "3")
	cache.node.UID, cache.node.Labels = "another", nil
	want("another node", [5]string{"", "1", "", "1", "n"})

	// Responses older than keepAnswer are not used.
	label(t, c, claim, "4")
	clock.Step(keepAnswer + time.Second)
	want("much later", [5]string{"", "1", "", "1", "n"})
}

func TestDeletionIsSentOnce(t *testing.T) {
	cache, c, clock := newLagging(t)
	for range 3 {
		if deleted, err := DeleteClaim(t.Context(), c, cache.claim.DeepCopy()); !deleted || err != nil {
			t.Fatalf("got %v, %v", deleted, err)
		}
	}
	if cache.deletes != 1 {
		t.Errorf("%d deletions were sent, want 1", cache.deletes)
	}
	clock.Step(keepAnswer + time.Second)
	if _, err := DeleteClaim(t.Context(), c, cache.claim.DeepCopy()); err != nil || cache.deletes != 2 {
		t.Errorf("%v; %d deletions were sent, want one more after a long time", err, cache.deletes)
	}
}

// After the last finalizer was removed, the object is read without finalizers until the watch delivers its deletion. So the
// finalizer is not removed twice. The response of the API server has the version before the patch.
func TestReleasedObject(t *testing.T) {
	cache, c, _ := newLagging(t)
	if _, err := DeleteClaim(t.Context(), c, cache.claim.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	cache.refresh(t)
	cache.Client = interceptor.NewClient(cache.Client.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			before := o.GetResourceVersion()
			err := c.Patch(ctx, o, p, opts...)
			o.SetResourceVersion(before)
			return err
		},
	})
	claim := cache.claim.DeepCopy()
	claim.Finalizers = nil
	if err := Patch(t.Context(), c, &cache.claim, claim); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var read apiv1.NodeClaim
		if err := c.Get(t.Context(), client.ObjectKey{Name: "c"}, &read); err != nil || len(read.Finalizers) != 0 {
			t.Errorf("read finalizers %v, %v; want none", read.Finalizers, err)
		}
	}
}
