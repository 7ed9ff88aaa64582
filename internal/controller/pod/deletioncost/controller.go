package deletioncost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/deletioncost"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// A Controller writes the annotation controller.kubernetes.io/pod-deletion-cost of pods. There is one Controller in a cluster.
type Controller struct {
	Client  client.Client
	Cluster *observe.Cluster
	Metrics *telemetry.DeletionCostMetrics
	// On is true if costs are to be written. Otherwise earlier written costs are removed.
	On bool

	// failed are the pods whose last write failed. The value is true if it was forbidden. They come last in a pass, so that
	// they do not exclude other pods from it. See the package comment.
	failed map[string]bool
}

const (
	// period is the time between two passes.
	period = time.Minute
	// perPass is the maximum number of pods that are written in one pass. If there are more, the next pass begins after soon. The
	// limit is necessary, because controllers that launch nodes share the client's rate limit.
	perPass = 500
	soon    = 10 * time.Second
	// maxErrors is the number of failed writes after which a pass ends. An API server that is overloaded gets no more of them.
	maxErrors = 20
)

// Name returns the controller's name.
func (c *Controller) Name() string { return "pod.deletioncost" }

// Register adds the controller to mgr. A pass that failed is repeated after soon, and after period if it fails again and again.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(singleton.Source()).
		WithOptions(controller.Options{RateLimiter: workers.Limiter(soon, period)}).Complete(c)
}

// Reconcile makes one pass. Without the feature gate, the passes end when no cost is left, or when all writes that are left are
// forbidden.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() {
		return ctrl.Result{RequeueAfter: observe.SyncPoll}, nil
	}
	costs := c.decide()
	left, err := c.pass(ctx, costs)
	c.measure(left)
	switch {
	case err != nil && !c.On && !slices.ContainsFunc(left, func(cost deletioncost.Cost) bool { return !c.failed[cost.Pod.Key] }):
		ctrl.LoggerFrom(ctx).Error(err, "failed to remove deletion costs of pods, they remain until the pods end",
			"annotation", corev1.PodDeletionCost, "pods", len(left))
	case err != nil:
		return ctrl.Result{}, err
	case len(left) > 0:
		return ctrl.Result{RequeueAfter: soon}, nil
	case c.On || len(costs) > 0:
		return ctrl.Result{RequeueAfter: period}, nil
	}
	return ctrl.Result{}, nil
}

// pass writes at most perPass of the costs, in their order, but those in c.failed last. It ends after maxErrors errors. It
// returns the costs that are left to write, and the joined errors.
func (c *Controller) pass(ctx context.Context, costs []deletioncost.Cost) (left []deletioncost.Cost, err error) {
	last := func(cost deletioncost.Cost) int {
		if _, failed := c.failed[cost.Pod.Key]; failed {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(costs, func(a, b deletioncost.Cost) int { return last(a) - last(b) })
	failed := map[string]bool{}
	var errs []error
	for i, cost := range costs {
		key := cost.Pod.Key
		if i >= perPass || len(errs) >= maxErrors {
			if forbidden, ok := c.failed[key]; ok {
				failed[key] = forbidden
			}
			left = append(left, cost)
		} else if err := c.write(ctx, cost); err != nil {
			failed[key] = apierrors.IsForbidden(err)
			left, errs = append(left, cost), append(errs, err)
		}
	}
	c.failed = failed
	return left, errors.Join(errs...)
}

func (c *Controller) decide() []deletioncost.Cost {
	if c.On {
		return deletioncost.Decide(c.Cluster.Snapshot())
	}
	return deletioncost.Withdraw(c.Cluster.Snapshot())
}

// measure sets the gauge to the number of nodes with pods in pending, by NodePool.
func (c *Controller) measure(pending []deletioncost.Cost) {
	c.Metrics.NodesWithPendingAnnotationWrites.Reset()
	seen := map[string]bool{}
	for _, cost := range pending {
		if !seen[cost.Node.Name] {
			seen[cost.Node.Name] = true
			c.Metrics.NodesWithPendingAnnotationWrites.WithLabelValues(cost.Node.Pool).Inc()
		}
	}
}

// write writes the cost of one pod. If the pod was deleted or changed, it is left to the next pass, and the error is nil.
func (c *Controller) write(ctx context.Context, cost deletioncost.Cost) error {
	pod := cost.Pod.Object.DeepCopy()
	annotate(pod, cost.Value)
	err := c.patch(ctx, pod, client.MergeFromWithOptions(cost.Pod.Object, client.MergeFromWithOptimisticLock{}))
	result := telemetry.WriteUpdated
	switch {
	case apierrors.IsNotFound(err):
		err, result = nil, telemetry.WriteNotFound
	case apierrors.IsConflict(err):
		err, result = nil, telemetry.WriteConflict
	case err != nil:
		err, result = fmt.Errorf("write deletion cost of pod %s: %w", cost.Pod.Key, err), telemetry.WriteError
	default:
		c.Cluster.Assume(pod)
	}
	c.Metrics.PodAnnotationWritesTotal.WithLabelValues(result).Inc()
	return err
}

// patch sends the patch. Without the feature gate, the chart does not grant the permission to patch pods, only their status. The
// API server accepts changes of annotations in a patch of the status as well.
func (c *Controller) patch(ctx context.Context, pod *corev1.Pod, patch client.Patch) error {
	if c.On {
		return c.Client.Patch(ctx, pod, patch)
	}
	return c.Client.Status().Patch(ctx, pod, patch)
}

// annotate sets the cost and the annotation that marks the cost as written by Karpenter. It removes both if value is empty.
func annotate(pod *corev1.Pod, value string) {
	for _, key := range []string{corev1.PodDeletionCost, apiv1.WrittenDeletionCostAnnotationKey} {
		if value == "" {
			delete(pod.Annotations, key)
			continue
		}
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[key] = value
	}
}
