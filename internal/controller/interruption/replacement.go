package interruption

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// awaited is how long a replacement is waited for. Pods that fit elsewhere need none.
const awaited = 10 * time.Minute

// Replacements watches claims being launched, and measures the time from an interruption to its replacement.
type Replacements struct {
	client client.Client
	// toLaunch takes the times.
	toLaunch prometheus.Histogram

	mu      sync.Mutex              // guards the rest
	waiting map[string][]time.Time  // when interruptions happened that await a replacement, by pool, oldest first
	counted map[types.UID]time.Time // claims that were counted as replacements, and when
}

// NewReplacements returns Replacements that read with c and observe in toLaunch.
func NewReplacements(c client.Client, toLaunch prometheus.Histogram) *Replacements {
	return &Replacements{
		client: c, toLaunch: toLaunch, waiting: map[string][]time.Time{}, counted: map[types.UID]time.Time{},
	}
}

// Name is the controller's name.
func (*Replacements) Name() string { return "interruption.replacement" }

// Register adds the controller to mgr.
func (r *Replacements) Register(mgr ctrl.Manager) error {
	launched := predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*apiv1.NodeClaim)
		return ok && condition.IsTrue(claim, apiv1.ConditionTypeLaunched) && !condition.IsTrue(claim, apiv1.ConditionTypeRegistered)
	})
	err := ctrl.NewControllerManagedBy(mgr).Named(r.Name()).
		For(&apiv1.NodeClaim{}, builder.WithPredicates(launched)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", r.Name(), err)
	}
	return nil
}

// Reconcile notes a claim that is launched.
func (r *Replacements) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim apiv1.NodeClaim
	if err := r.client.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if c := condition.Get(&claim, apiv1.ConditionTypeLaunched); condition.IsTrue(&claim, apiv1.ConditionTypeLaunched) {
		r.launched(&claim, c.LastTransitionTime.Time)
	}
	return ctrl.Result{}, nil
}

// await notes that the claim's pool will launch something in its place. A zero time of the interruption means now.
func (r *Replacements) await(claim *apiv1.NodeClaim, at, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pool := claim.Labels[apiv1.NodePoolLabelKey]
	if at.IsZero() {
		at = now
	}
	r.waiting[pool] = append(r.waiting[pool], at)
	slices.SortFunc(r.waiting[pool], time.Time.Compare)
}

// launched counts a claim that was made after an interruption in its pool as the replacement for the oldest one.
func (r *Replacements) launched(claim *apiv1.NodeClaim, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, when := range r.counted {
		if at.Sub(when) > awaited {
			delete(r.counted, uid)
		}
	}
	pool := claim.Labels[apiv1.NodePoolLabelKey]
	waiting := slices.DeleteFunc(r.waiting[pool], func(t time.Time) bool { return at.Sub(t) > awaited })
	r.waiting[pool] = waiting
	if _, known := r.counted[claim.UID]; known || len(waiting) == 0 ||
		claim.CreationTimestamp.Time.Before(waiting[0].Truncate(time.Second)) {
		return
	}
	r.counted[claim.UID] = at
	r.toLaunch.Observe(max(at.Sub(waiting[0]), 0).Seconds())
	r.waiting[pool] = waiting[1:]
}
