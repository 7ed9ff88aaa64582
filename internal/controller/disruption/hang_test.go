package disruption

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/lifecycle"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// hanging is a controller of claims whose cloud does not answer the launch of one claim until release is closed.
type hanging struct {
	*lifecycle.Controller
	claim          string        // claim whose launch hangs
	asked, release chan struct{} // asked is closed when the cloud gets the call; closing release makes it answer
	done           chan struct{} // closed when the launch has returned
}

// hang makes the colony launch claims with such a controller. The launch of the given claim hangs.
func (o *colony) hang(claim string) *hanging {
	h := &hanging{claim: claim, asked: make(chan struct{}), release: make(chan struct{}), done: make(chan struct{})}
	h.Controller = &lifecycle.Controller{
		Client: o.client, Clock: o.clock, Events: silence{}, Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), nil),
		Cloud: &fakecloud.Cloud{OnCreate: func(ctx context.Context, c *apiv1.NodeClaim) error {
			if c.Name != claim {
				return nil
			}
			close(h.asked)
			select {
			case <-h.release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
	}
	o.launch = func(c *apiv1.NodeClaim) {
		if c.Name != claim {
			o.must(h.reconcile(o.t.Context(), c.Name))
			return
		}
		select {
		case <-h.asked: // the launch hangs already
		default:
			go func() {
				defer close(h.done)
				if err := h.reconcile(o.t.Context(), claim); err != nil {
					o.t.Error(err)
				}
			}()
			select {
			case <-h.asked:
			case <-h.done:
				o.t.Fatalf("the launch of %s is over before it was asked for", claim)
			}
		}
	}
	return h
}

func (h *hanging) reconcile(ctx context.Context, claim string) error {
	_, err := h.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: claim}})
	return err
}

// is returns the state of the claim: unmarked, marked, deleting or gone.
func (o *colony) is(name string) string {
	for _, c := range o.claims() {
		switch {
		case c.Name != name:
		case c.DeletionTimestamp != nil:
			return "deleting"
		case condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason):
			return "marked"
		default:
			return "unmarked"
		}
	}
	return "gone"
}

// A launch that hangs delays only its own command. Commands of the same pool and of other pools are checked again and completed,
// whether they began before or during the hang. After the cloud answers, the delayed command is completed as well.
func TestOneLaunchHangs(t *testing.T) {
	o := newColony(t, 0)
	o.must(o.client.Create(t.Context(), poolOf("other")))
	var h *hanging
	o.launch = func(*apiv1.NodeClaim) {} // no launch succeeds before the one that hangs is chosen
	o.pass()
	for _, c := range o.claims() {
		if c.Name == "claim-0" {
			h = o.hang(status.ReplacedBy(&c)[0])
		}
	}
	before, want := o.is("claim-0")+" "+o.is("claim-1"), "marked marked"
	if before != want {
		t.Fatalf("the claims of drifted nodes are %s, want %s", before, want)
	}
	for range 4 {
		o.pass()
	}
	o.drifted(2, "default")
	o.drifted(3, "other")
	for range 6 {
		o.pass()
	}
	for name, want := range map[string]string{"claim-0": "marked", "claim-1": "gone", "claim-2": "gone", "claim-3": "gone"} {
		if got := o.is(name); got != want {
			t.Errorf("while a replacement of claim-0 hangs %s is %s, want %s", name, got, want)
		}
	}
	close(h.release)
	<-h.done
	o.settle()
	if got := o.is("claim-0"); got != "gone" {
		t.Errorf("once the cloud has answered claim-0 is %s, want it gone", got)
	}
	if n := len(o.claims()); n != 8 || o.made != 8 {
		t.Errorf("%d claims are left of %d that were made, want one for each of 8 pods", n, o.made)
	}
}
