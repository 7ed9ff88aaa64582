package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A claim that the watch does not deliver is removed only if it does not exist in the API server.
func TestConfirm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		exists []client.Object
		fails  bool
		want   string
	}{
		{"it does not exist", nil, false, ""},
		{"another claim has its name", []client.Object{claim("a", "2", 9)}, false, ""},
		{"it exists and the watch is stalled", []client.Object{claim("a", "1", 7)}, false, "a@7 "},
		{"the API server does not answer", nil, true, "a@5 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(start)
			c := New(clock)
			c.Assume(claim("a", "1", 5))
			c.Snapshot()
			lists := 0
			c.Live = fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(tt.exists...).
				WithInterceptorFuncs(interceptor.Funcs{List: func(
					ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption,
				) error {
					if lists++; tt.fails {
						return errors.New("no answer")
					}
					return w.List(ctx, list, opts...)
				}}).Build()
			clock.Step(phantom)
			if err := c.Confirm(t.Context()); err != nil || lists > 0 {
				t.Errorf("the API server was asked %d times before the time (%v)", lists, err)
			}
			clock.Step(time.Second)
			if err := c.Confirm(t.Context()); (err != nil) != tt.fails {
				t.Errorf("Confirm returned %v", err)
			}
			if got := names(c.Snapshot()); got != tt.want {
				t.Errorf("claims are %q, want %q", got, tt.want)
			}
		})
	}
}

// A new leader knows claims that its watch has not delivered. It reads them again after an error, but only once after success.
// Later versions and deletions that the watch has delivered take precedence.
func TestReadClaims(t *testing.T) {
	c := New(clocktesting.NewFakeClock(start))
	c.Set(claim("later", "2", 8))
	c.Set(claim("gone", "3", 5))
	c.Remove(claim("gone", "3", 5))
	lists, fails := 0, true
	c.Live = fake.NewClientBuilder().WithScheme(api.Scheme()).
		WithObjects(claim("unseen", "1", 7), claim("later", "2", 7), claim("gone", "3", 5)).
		WithInterceptorFuncs(interceptor.Funcs{List: func(
			ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption,
		) error {
			if lists++; fails {
				return errors.New("no answer")
			}
			return w.List(ctx, list, opts...)
		}}).Build()
	if err := c.ReadClaims(t.Context()); err == nil {
		t.Error("no error from an API server without an answer")
	}
	if got, want := names(c.Snapshot()), "later@8 "; got != want {
		t.Errorf("claims are %q, want %q", got, want)
	}
	fails = false
	for range 2 {
		if err := c.ReadClaims(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := names(c.Snapshot()), "later@8 unseen@7 "; got != want {
		t.Errorf("claims are %q, want %q", got, want)
	}
	if lists != 2 {
		t.Errorf("the API server was asked %d times, want 2", lists)
	}
}

// Assume does not restore a deleted node.
func TestAssumeNode(t *testing.T) {
	c := New(clocktesting.NewFakeClock(start))
	node := &corev1.Node{}
	node.Name, node.UID, node.ResourceVersion = "n", "1", "5"
	c.Set(node)
	c.Snapshot()
	c.Remove(node)
	wrote := node.DeepCopy()
	wrote.ResourceVersion = "6"
	c.Assume(wrote)
	if n := len(c.Snapshot().Nodes()); n != 0 {
		t.Errorf("%d nodes, want none", n)
	}
}

// A replica that is not the leader takes no snapshots. It keeps no entries for objects that were created and deleted.
func TestStandbyKeepsNothing(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	c := New(clock)
	for i := range 1000 {
		clock.Step(time.Second)
		p := pod("p", i%2 == 0)
		p.Name, p.UID = "p"+time.Duration(i).String(), types.UID(time.Duration(i).String())
		n := &apiv1.NodeClaim{}
		n.Name, n.UID = p.Name, p.UID
		c.Set(p)
		c.Set(n)
		c.Remove(p)
		c.Remove(n)
	}
	if n := len(c.changed); n != 0 {
		t.Errorf("%d changes are kept, want none", n)
	}
	if n := len(c.waiting) + len(c.backlog.seen) + len(c.backlog.refused); n != 0 {
		t.Errorf("%d entries about pods are kept, want none", n)
	}
	if most := int(phantom/time.Second) + 1; len(c.removed.uids) > most || len(c.removed.order) > most {
		t.Errorf("%d removals are kept, want at most %d", len(c.removed.uids), most)
	}
}

// A pod was deleted and created again under the same name while the watch was interrupted. The watch delivers this as an update.
func TestRelist(t *testing.T) {
	s := newStage(t)
	old := s.show("a-0", "StatefulSet", "a", "refused")
	again := old.DeepCopy()
	again.UID, again.Status.Conditions = "another", nil
	s.Replace(old, again)
	s.want("the scheduler has not tried the new pod", "")
	s.Remove(again)
	if n := len(s.waiting) + len(s.backlog.seen) + len(s.backlog.refused) + len(s.backlog.told); n != 0 {
		t.Errorf("%d entries are kept, want none", n)
	}
}
