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

// awaited is the time after an interruption within which a launch counts as its replacement. There is no replacement if the pods
// fit on other nodes.
const awaited = 10 * time.Minute

// Replacements watches launches of NodeClaims. It measures the time from an interruption to the launch of the replacement.
type Replacements struct {
	client client.Client
	// toLaunch is the histogram of these times.
	toLaunch prometheus.Histogram

	mu      sync.Mutex              // guards the rest
	waiting map[string][]time.Time  // times of interruptions without a replacement, by NodePool, oldest first
	counted map[types.UID]time.Time // times at which NodeClaims were counted as replacements
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

// Reconcile handles a NodeClaim that was launched.
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

// await records an interruption of the claim's node, for which a replacement may be launched. at is the time of the interruption;
// zero stands for now.
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

// launched counts the claim as the replacement for the oldest interruption in its NodePool, if the claim was created after that
// interruption.
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
