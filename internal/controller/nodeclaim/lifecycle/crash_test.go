package lifecycle

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

// After a crash at any write, the next controller continues with the same instance. After the deletion of the claim, nothing
// remains.
func TestCrashAnywhere(t *testing.T) {
	crash := errors.New("crash")
	for crashAt := 1; ; crashAt++ {
		b := newBench(t, world.Claim("a"))
		b.World.Add(world.Node("n1", "fake://zone-a/i-1"))
		writes := 0
		fail := func() error {
			writes++
			if writes == crashAt {
				return crash
			}
			return nil
		}
		b.Controller.Client = interceptor.NewClient(b.World.Client, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				return errors.Join(fail(), c.Patch(ctx, o, p, opts...))
			},
			SubResourcePatch: func(
				ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
			) error {
				if err := fail(); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := fail(); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
		})
		live := func() {
			for range 4 {
				if _, err := b.try("a"); err != nil && !errors.Is(err, crash) {
					t.Fatal(err)
				} else if err != nil {
					b.restart()
				}
			}
		}
		live()
		b.want("Ready", b.Condition("a", "Ready"), "True Ready")
		if b.World.Cloud.Launches() != 1 {
			t.Errorf("crash at write %d: %d launches, want 1", crashAt, b.World.Cloud.Launches())
		}
		b.delete(b.GetClaim("a"))
		live()
		if node := b.GetNode("n1"); node != nil {
			node.Finalizers = nil
			if err := b.World.Client.Update(t.Context(), node); err != nil {
				t.Fatal(err)
			}
		}
		live()
		live()
		if b.GetClaim("a") != nil || len(b.World.Cloud.Instances()) != 0 {
			t.Errorf("crash at write %d leaves claim %v, instances %v", crashAt, b.GetClaim("a"), b.World.Cloud.Instances())
		}
		if writes < crashAt {
			if writes < 6 {
				t.Fatalf("a whole life made %d writes, want more: the test tests nothing", writes)
			}
			return // the crash was at each write once
		}
	}
}

// A claim is deleted after its launch, before its provider ID was written. Its instance is terminated nevertheless.
func TestDeletedBeforeLaunchWasRecorded(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.World.Cloud.OnCreate = func(_ context.Context, claim *apiv1.NodeClaim) error {
		b.World.Cloud.Launch(claim)
		return errors.New("connection reset")
	}
	if _, err := b.try("a"); err == nil {
		t.Fatal("want the launch's error")
	}
	b.restart()
	b.delete(b.GetClaim("a"))
	b.pass("a")
	b.want("InstanceTerminating", b.Condition("a", "InstanceTerminating"), "True InstanceTerminating")
	b.pass("a")
	if b.GetClaim("a") != nil || len(b.World.Cloud.Instances()) != 0 {
		t.Errorf("left over: claim %v, instances %v", b.GetClaim("a"), b.World.Cloud.Instances())
	}
}

// If a claim is deleted after its launch and its status was not written, Delete gets the instance's ID from memory. The
// provider may not find a new instance by its tags yet.
func TestDeletedWithTheLaunchInMemory(t *testing.T) {
	b := newBench(t, world.Claim("a"))
	b.Controller.Client = interceptor.NewClient(b.World.Client, interceptor.Funcs{
		SubResourcePatch: func(
			context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return errors.New("connection reset")
		},
	})
	if _, err := b.try("a"); err == nil {
		t.Fatal("want the write's error")
	}
	b.Controller.Client = b.World.Client
	b.World.Cloud.OnDelete = func(*apiv1.NodeClaim) error { return errors.New("not authorized") }
	b.delete(b.GetClaim("a"))
	if _, err := b.try("a"); err == nil {
		t.Fatal("want the error of the cloud")
	}
	b.want("events", b.World.Events.Told(), "Warning FailedTermination a")
	var told string
	b.World.Cloud.OnDelete = func(claim *apiv1.NodeClaim) error { told = claim.Status.ProviderID; return nil }
	b.pass("a")
	b.want("provider ID told", told, "fake://zone-a/i-1")
}

// If the cache has an older version of the claim than the last write, nothing is launched twice or deleted twice.
func TestStaleCache(t *testing.T) {
	stale := func(b *bench, old *apiv1.NodeClaim) {
		b.Controller.Client = interceptor.NewClient(b.World.Client, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if claim, ok := o.(*apiv1.NodeClaim); ok {
					old.DeepCopyInto(claim)
					return nil
				}
				return c.Get(ctx, key, o, opts...)
			},
		})
	}
	t.Run("launched", func(t *testing.T) {
		b := newBench(t, world.Claim("a"))
		calls := 0
		b.World.Cloud.OnCreate = func(context.Context, *apiv1.NodeClaim) error { calls++; return nil }
		b.pass("a")
		old := b.GetClaim("a")
		old.Status = apiv1.NodeClaimStatus{}
		stale(b, old)
		b.pass("a")
		if calls != 1 {
			t.Errorf("the cloud was asked %d times, want once", calls)
		}
		b.want("Launched", b.Condition("a", "Launched"), "True Launched")
	})
	for _, err := range []error{errors.New("no answer"), &cloud.InsufficientCapacityError{Err: errors.New("none")}} {
		t.Run("launched by another process, then "+err.Error(), func(t *testing.T) {
			b := newBench(t, world.Claim("a"))
			old := b.GetClaim("a")
			b.pass("a")
			old.Finalizers = b.GetClaim("a").Finalizers
			b.restart()
			b.World.Cloud.OnCreate = func(context.Context, *apiv1.NodeClaim) error { return err }
			b.Controller.Live = b.World.Client
			stale(b, old)
			b.pass("a")
			b.pass("a") // waits until the launch may be repeated, and writes the initial conditions
			b.want("Launched", b.Condition("a", "Launched"), "True Launched")
			b.want("provider ID", b.GetClaim("a").Status.ProviderID, "fake://zone-a/i-1")
			if b.GetClaim("a").DeletionTimestamp != nil {
				t.Error("the claim is being deleted")
			}
		})
	}
	t.Run("given up", func(t *testing.T) {
		b := newBench(t, world.Claim("a"))
		calls := 0
		b.World.Cloud.OnCreate = func(context.Context, *apiv1.NodeClaim) error {
			calls++
			return &cloud.InsufficientCapacityError{Err: errors.New("none")}
		}
		old := b.GetClaim("a")
		b.pass("a")
		old.Finalizers = b.GetClaim("a").Finalizers
		stale(b, old)
		b.pass("a")
		if calls != 1 {
			t.Errorf("the cloud was asked %d times, want once", calls)
		}
	})
}

// After a crash between the writes of the labels and the status of a launch, the claim has labels of an instance that may be
// lost. The labels of the next instance replace them. Other labels of the claim remain.
func TestLabelsOfALostInstance(t *testing.T) {
	claim := world.Claim("a")
	claim.Labels["team"] = "blue"
	claim.Labels[corev1.LabelTopologyZone] = "zone-lost"
	b := newBench(t, claim)
	b.pass("a")
	got := b.GetClaim("a")
	b.want("provider ID", got.Status.ProviderID, "fake://zone-a/i-1")
	b.want("zone", got.Labels[corev1.LabelTopologyZone], "zone-a")
	b.want("team", got.Labels["team"], "blue")
}
