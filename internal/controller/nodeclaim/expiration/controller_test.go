package expiration

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

func TestExpiration(t *testing.T) {
	for _, tt := range []struct {
		name    string
		after   string
		kind    string
		at      time.Duration
		gone    bool
		requeue time.Duration
	}{
		{"young", "1h", "", 59 * time.Minute, false, time.Minute},
		{"its time has come", "1h", "", time.Hour, true, 0},
		{"never", "Never", "", 90000 * time.Hour, false, 0},
		{"not ours", "1h", "Other", 2 * time.Hour, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			claim := world.Claim("a")
			claim.Finalizers = []string{apiv1.TerminationFinalizer}
			claim.Spec.ExpireAfter = apiv1.MustParseNillableDuration(tt.after)
			if tt.kind != "" {
				claim.Spec.NodeClassRef.Kind = tt.kind
			}
			w := world.New(t, claim)
			c := &Controller{Client: w.Client, Clock: w.Clock, Metrics: w.Metrics, Cloud: w.Cloud}
			w.Clock.Step(tt.at)
			for pass := range 2 { // the second pass changes nothing
				result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "a"}})
				if err != nil {
					t.Fatal(err)
				}
				if got := !w.GetClaim("a").DeletionTimestamp.IsZero(); got != tt.gone || result.RequeueAfter != tt.requeue {
					t.Errorf("pass %d: deleted %t, looks again after %s, want %t and %s",
						pass, got, result.RequeueAfter, tt.gone, tt.requeue)
				}
			}
			want := 0.0
			if tt.gone {
				want = 1
			}
			if n := w.Count("karpenter_nodeclaims_disrupted_total", "capacity_type=", "consolidation_policy=",
				"nodepool=default", "reason=expired", "termination_mode=graceful"); n != want {
				t.Errorf("disrupted_total is %v, want %v", n, want)
			}
		})
	}
}

// Of claims that expire at the same time, at most a fifth are deleted per window, or ten if that is more.
func TestMassExpiry(t *testing.T) {
	for _, tt := range []struct {
		claims int
		want   []int // deleted after each window
	}{
		{10, []int{10}},
		{24, []int{10, 20, 24}},
		{100, []int{20, 36, 48, 58, 68}}, // a fifth of the claims that are not deleted
	} {
		var objects []client.Object
		for i := range tt.claims {
			claim := world.Claim(fmt.Sprintf("a%d", i))
			claim.Finalizers = []string{apiv1.TerminationFinalizer}
			claim.Spec.ExpireAfter = apiv1.MustParseNillableDuration("1h")
			objects = append(objects, claim)
		}
		w := world.New(t, objects...)
		c := &Controller{Client: w.Client, Clock: w.Clock, Metrics: w.Metrics, Cloud: w.Cloud}
		w.Clock.Step(time.Hour)
		for _, want := range tt.want {
			deleted := 0
			for i := range tt.claims {
				name := types.NamespacedName{Name: fmt.Sprintf("a%d", i)}
				result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
				if err != nil {
					t.Fatal(err)
				}
				if !w.GetClaim(name.Name).DeletionTimestamp.IsZero() {
					deleted++
				} else if result.RequeueAfter != window {
					t.Errorf("%d claims: one that waits is looked at after %s, want %s", tt.claims, result.RequeueAfter, window)
				}
			}
			if deleted != want {
				t.Errorf("%d claims: %d are deleted, want %d", tt.claims, deleted, want)
			}
			w.Clock.Step(window)
		}
	}
}

// A controller that has just started counts expired claims whose deletion began within the window, as if it had deleted them. It
// does not count claims that were deleted before they expired.
func TestMassExpiryAfterRestart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ago     time.Duration // since the deletion of 20 of 100 claims
		expired time.Duration // how long these had been expired when they were deleted
		wait    time.Duration // until a fifth of the other 80 are deleted
	}{
		{"within the window", 3 * time.Minute, time.Minute, 7 * time.Minute},
		{"within the window, at its expiry", 3 * time.Minute, 0, 7 * time.Minute},
		{"before the window", window, time.Minute, 0},
		{"for another reason", 3 * time.Minute, -time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := world.Start.Add(2 * time.Hour)
			var objects []client.Object
			for i := range 100 {
				claim := world.Claim(fmt.Sprintf("a%d", i))
				claim.Finalizers = []string{apiv1.TerminationFinalizer}
				claim.Spec.ExpireAfter = apiv1.MustParseNillableDuration("1h")
				if i >= 80 {
					deleted := metav1.NewTime(now.Add(-tt.ago))
					claim.DeletionTimestamp = &deleted
					claim.CreationTimestamp = metav1.NewTime(deleted.Add(-tt.expired - time.Hour))
				}
				objects = append(objects, claim)
			}
			w := world.New(t, objects...)
			w.Clock.Step(now.Sub(world.Start))
			c := &Controller{Client: w.Client, Clock: w.Clock, Metrics: w.Metrics, Cloud: w.Cloud}
			first := ctrl.Request{NamespacedName: types.NamespacedName{Name: "a0"}}
			result, err := c.Reconcile(t.Context(), first)
			if err != nil || result.RequeueAfter != tt.wait {
				t.Fatalf("looks again after %v, want %v: %v", result.RequeueAfter, tt.wait, err)
			}
			w.Clock.Step(tt.wait)
			deleted := 0
			for i := range 80 {
				name := fmt.Sprintf("a%d", i)
				if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
					t.Fatal(err)
				}
				if !w.GetClaim(name).DeletionTimestamp.IsZero() {
					deleted++
				}
			}
			if deleted != 16 {
				t.Errorf("%d claims are deleted after the wait, want 16", deleted)
			}
		})
	}
}
