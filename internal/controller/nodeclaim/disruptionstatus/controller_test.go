package disruptionstatus

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

func pool(after string) *apiv1.NodePool {
	p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid-pool"}}
	p.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration(after)
	return p
}

type bench struct {
	*world.World
	c *Controller
	t *testing.T
}

// newBench returns a world with this pool and claim a, whose node has joined.
func newBench(t *testing.T, pool *apiv1.NodePool, change func(*apiv1.NodeClaim)) *bench {
	t.Helper()
	w := world.New(t, pool)
	claim := world.Joined(w.Cloud, "a")
	if change != nil {
		change(claim)
	}
	w.Add(claim)
	return &bench{World: w, t: t, c: &Controller{Client: w.Client, Clock: w.Clock, Cloud: w.Cloud}}
}

// pass reconciles the claim and checks its conditions and the time of the next reconcile.
func (b *bench) pass(consolidatable, drifted string, again time.Duration) {
	b.t.Helper()
	result, err := b.c.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "a"}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.conditions(consolidatable, drifted)
	if result.RequeueAfter != again {
		b.t.Errorf("looks again after %s, want %s", result.RequeueAfter, again)
	}
}

func (b *bench) conditions(consolidatable, drifted string) {
	b.t.Helper()
	if got := b.Condition("a", apiv1.ConditionTypeConsolidatable); got != consolidatable {
		b.t.Errorf("Consolidatable is %q, want %q", got, consolidatable)
	}
	if got := b.Condition("a", apiv1.ConditionTypeDrifted); got != drifted {
		b.t.Errorf("Drifted is %q, want %q", got, drifted)
	}
}

const yes = "True Consolidatable"

func TestConsolidatableComesAndGoes(t *testing.T) {
	b := newBench(t, pool("2m"), nil)
	b.pass("", "", 2*time.Minute)
	b.Clock.Step(2 * time.Minute)
	b.pass(yes, "", 5*time.Minute)

	// A pod was bound, so consolidateAfter begins again.
	claim := b.GetClaim("a")
	claim.Status.LastPodEventTime = metav1.NewTime(b.Clock.Now())
	if err := b.Client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.pass("", "", 2*time.Minute)
	b.Clock.Step(time.Minute)
	b.pass("", "", time.Minute)
}

func TestConsolidatableWaitsNoLongerThanDrift(t *testing.T) {
	newBench(t, pool("1h"), nil).pass("", "", 5*time.Minute)
}

func TestStaticPoolsAreNotConsolidated(t *testing.T) {
	p := pool("0s")
	p.Spec.Replicas = new(int64(3))
	newBench(t, p, func(claim *apiv1.NodeClaim) {
		condition.SetTrue(claim, apiv1.ConditionTypeConsolidatable, world.Start)
	}).pass("", "", 5*time.Minute)
}

func TestDrift(t *testing.T) {
	hash := func(v string) map[string]string {
		return map[string]string{apiv1.NodePoolHashAnnotationKey: v, apiv1.NodePoolHashVersionAnnotationKey: "v3"}
	}
	b := newBench(t, pool("0s"), func(claim *apiv1.NodeClaim) { claim.Annotations = hash("1") })
	var told cloud.DriftReason
	asked := 0
	b.Cloud.OnDrift = func(*apiv1.NodeClaim) (cloud.DriftReason, error) { asked++; return told, nil }
	b.pass(yes, "", 5*time.Minute)

	told = "AMIDrift"
	b.pass(yes, "True AMIDrift", 5*time.Minute)
	if c := condition.Get(b.GetClaim("a"), apiv1.ConditionTypeDrifted); c.Message != "AMIDrift" {
		t.Errorf("message is %q, want the reason again", c.Message)
	}
	told = ""
	b.pass(yes, "", 5*time.Minute)

	// Checks that need no call of the provider come first.
	p := &apiv1.NodePool{}
	if err := b.Client.Get(t.Context(), types.NamespacedName{Name: "default"}, p); err != nil {
		t.Fatal(err)
	}
	p.Annotations = hash("2")
	if err := b.Client.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	before := asked
	b.pass(yes, "True NodePoolDrifted", 5*time.Minute)
	if asked != before {
		t.Error("the provider was asked about a claim that is known to have drifted")
	}
}

func TestDriftOfInstanceType(t *testing.T) {
	b := newBench(t, pool("0s"), nil)
	b.Cloud.Types = []*cloud.InstanceType{{Name: "other"}}
	b.Clock.Step(time.Hour - time.Second)
	b.pass(yes, "", 5*time.Minute)
	b.Clock.Step(time.Second)
	b.pass(yes, "True InstanceTypeNotFound", 5*time.Minute)
}

// If the check of drift fails, Drifted is not changed, and Consolidatable is written nevertheless.
func TestDriftUnknown(t *testing.T) {
	drifted := func(claim *apiv1.NodeClaim) {
		condition.SetTrueWithReason(claim, apiv1.ConditionTypeDrifted, "AMIDrift", "AMIDrift", world.Start)
	}
	t.Run("provider fails", func(t *testing.T) {
		b := newBench(t, pool("0s"), drifted)
		fail := errors.New("throttled")
		b.Cloud.OnDrift = func(*apiv1.NodeClaim) (cloud.DriftReason, error) { return "", fail }
		_, err := b.c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "a"}})
		if !errors.Is(err, fail) {
			t.Errorf("error is %v, want the provider's", err)
		}
		b.conditions(yes, "True AMIDrift")
	})
	t.Run("instance is not visible yet", func(t *testing.T) {
		b := newBench(t, pool("0s"), drifted)
		b.Cloud.OnDrift = func(*apiv1.NodeClaim) (cloud.DriftReason, error) {
			return "", fmt.Errorf("describe instance: %w", cloud.ErrNotFound)
		}
		b.pass(yes, "True AMIDrift", 5*time.Minute)
	})
	t.Run("class is not ready", func(t *testing.T) {
		b := newBench(t, pool("0s"), drifted)
		b.Clock.Step(2 * time.Hour)
		b.Cloud.TypesErr = &cloud.NodeClassNotReadyError{Err: errors.New("no subnets")}
		b.pass(yes, "True AMIDrift", 5*time.Minute)
	})
}

func TestClaimsThatAreNotJudged(t *testing.T) {
	for name, change := range map[string]func(*apiv1.NodeClaim){
		"no pool":   func(claim *apiv1.NodeClaim) { delete(claim.Labels, apiv1.NodePoolLabelKey) },
		"pool gone": func(claim *apiv1.NodeClaim) { claim.Labels[apiv1.NodePoolLabelKey] = "other" },
		"not ours":  func(claim *apiv1.NodeClaim) { claim.Spec.NodeClassRef.Kind = "Other" },
	} {
		t.Run(name, func(t *testing.T) { newBench(t, pool("0s"), change).pass("", "", 0) })
	}
	t.Run("not launched", func(t *testing.T) {
		b := newBench(t, pool("0s"), func(claim *apiv1.NodeClaim) { claim.Status.Conditions = nil })
		b.Cloud.OnDrift = func(*apiv1.NodeClaim) (cloud.DriftReason, error) { return "AMIDrift", nil }
		b.pass("", "", 0)
	})
}

func TestWhoIsWoken(t *testing.T) {
	b := newBench(t, pool("0s"), nil)
	other := world.Claim("b")
	other.Labels[apiv1.NodePoolLabelKey] = "other"
	other.Spec.NodeClassRef = fakecloud.Ref("second")
	foreign := world.Claim("c")
	foreign.Spec.NodeClassRef.Kind = "Other"
	b.Add(other, foreign)
	names := func(list []ctrl.Request) (names []string) {
		for _, r := range list {
			names = append(names, r.Name)
		}
		return names
	}
	class := func(name string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	fromClass := b.c.fromClass(fakecloud.NodeClass.Group, fakecloud.NodeClass.Kind)
	for _, tt := range []struct {
		what      string
		got, want []string
	}{
		{"pool default", names(b.c.fromPool(t.Context(), pool("0s"))), []string{"a"}},
		{"class default", names(fromClass(t.Context(), class("default"))), []string{"a"}},
		{"class second", names(fromClass(t.Context(), class("second"))), []string{"b"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s wakes (-want +got):\n%s", tt.what, diff)
		}
	}
}
