package metrics

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// podPeriod is the interval at which the gauges of waiting pods are updated.
const podPeriod = 30 * time.Second

// Pods writes the metrics of single pods, and the times until they were bound and ready. It measures a time only if an earlier
// reconcile found the pod not bound or not ready. So a restart does not count running pods again.
type Pods struct {
	Client   client.Client
	Clock    clock.PassiveClock
	Metrics  *telemetry.PodMetrics
	Timeline *Timeline
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
	// Detail decides whether single pods have series; nil means always.
	Detail *Detail

	series series

	mu      sync.Mutex // guards waiting
	waiting map[types.NamespacedName]wait
}

// A wait has the states that a pod had not reached at its last reconcile: bound and ready.
type wait struct {
	uid              types.UID
	unbound, unready bool
}

// Name is the controller's name in logs and metrics.
func (c *Pods) Name() string { return "metrics.pod" }

// Reconcile updates the metrics of one pod. It is repeated after podPeriod while the pod is not ready.
func (c *Pods) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{} // shared with the cache, must not be changed
	if err := c.Client.Get(ctx, req.NamespacedName, pod, client.UnsafeDisableDeepCopy); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("get pod %s: %w", req.NamespacedName, err)
		}
		c.series.replace(req.String(), nil)
		c.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	waits, err := c.follow(ctx, req.NamespacedName, pod)
	if err != nil {
		return ctrl.Result{}, err
	}
	samples := waits
	if c.Detail.Coarse() {
		samples = nil // Nodes writes sums
	} else {
		state, err := c.state(ctx, pod)
		if err != nil {
			return ctrl.Result{}, err
		}
		samples = append(samples, state)
	}
	c.series.replace(req.String(), samples)
	if len(waits) > 0 {
		return ctrl.Result{RequeueAfter: podPeriod}, nil
	}
	return ctrl.Result{}, nil
}

// state returns the sample of the metric PodMetrics.State for the pod.
func (c *Pods) state(ctx context.Context, pod *corev1.Pod) (sample, error) {
	node := &corev1.Node{}
	if pod.Spec.NodeName != "" {
		err := c.Client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return sample{}, fmt.Errorf("get node %s: %w", pod.Spec.NodeName, err)
		}
	}
	return sample{c.Metrics.State, stateLabels(pod, node.Labels), 1}, nil
}

// ownerOf returns the API path of the pod's controller, "" if there is none.
func ownerOf(pod *corev1.Pod) string {
	o := metav1.GetControllerOf(pod)
	if o == nil {
		return ""
	}
	return fmt.Sprintf("/apis/%s/namespaces/%s/%ss/%s", o.APIVersion, pod.Namespace, lower(o.Kind), o.Name)
}

// follow observes the times of the states that the pod has reached since its last reconcile. It returns the gauges of the
// states that it has not reached.
func (c *Pods) follow(ctx context.Context, key types.NamespacedName, pod *corev1.Pod) ([]sample, error) {
	was, now := c.wasWaiting(key, pod.UID), c.Clock.Now()
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		c.forget(key)
		return nil, nil
	}
	if model.NewPod(pod).Provisionable() {
		c.Timeline.Seen(key, pod.UID, now)
	}
	m := c.Timeline.of(key, pod.UID)
	counts, err := c.counts(ctx, m)
	if err != nil {
		return nil, err
	}
	bound, ready := boundSince(pod), readySince(pod)
	if was.unbound && !bound.IsZero() {
		dynamic := dynamicResources(pod)
		c.Metrics.BoundDurationSeconds.WithLabelValues(dynamic).Observe(since(pod.CreationTimestamp.Time, bound))
		if counts {
			c.Metrics.ProvisioningBoundDurationSeconds.WithLabelValues(dynamic).Observe(since(m.schedulable, bound))
		}
	}
	if was.unready && !ready.IsZero() {
		c.Metrics.StartupDurationSeconds.WithLabelValues().Observe(since(pod.CreationTimestamp.Time, ready))
		if counts {
			c.Metrics.ProvisioningStartupDurationSeconds.WithLabelValues().Observe(since(m.schedulable, ready))
		}
	}
	if !ready.IsZero() {
		c.forget(key)
		return nil, nil
	}
	is := wait{pod.UID, bound.IsZero(), was.unready || pod.Status.Phase == corev1.PodPending}
	if !is.unbound && !is.unready {
		return nil, nil // the pod is bound and running, and no reconcile found it pending; or it was ready before
	}
	c.nowWaiting(key, is)
	return c.gauges(pod, is, m, counts), nil
}

// gauges returns the current waiting times of the pod for the states that it has not reached.
func (c *Pods) gauges(pod *corev1.Pod, is wait, m moments, counts bool) []sample {
	labels, now := []string{pod.Name, pod.Namespace}, c.Clock.Now()
	age := since(pod.CreationTimestamp.Time, now)
	var list []sample
	if is.unbound {
		binding := append(labels[:2:2], dynamicResources(pod))
		list = append(list, sample{c.Metrics.UnboundTimeSeconds, binding, age})
		if counts {
			list = append(list, sample{c.Metrics.ProvisioningUnboundTimeSeconds, binding, since(m.schedulable, now)})
		}
		if !m.seen.IsZero() && m.decided.IsZero() {
			list = append(list, sample{
				c.Metrics.ProvisioningSchedulingUndecidedTimeSeconds, labels, since(m.seen, now),
			})
		}
	}
	if is.unready {
		list = append(list, sample{c.Metrics.UnstartedTimeSeconds, labels, age})
		if counts {
			list = append(list, sample{c.Metrics.ProvisioningUnstartedTimeSeconds, labels, since(m.schedulable, now)})
		}
	}
	return list
}

// dynamicResources returns the value of the label dynamic_resources: whether the pod has ResourceClaims.
func dynamicResources(pod *corev1.Pod) string {
	claims := len(pod.Spec.ResourceClaims) > 0
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		claims = claims || slices.ContainsFunc(list, func(c corev1.Container) bool { return len(c.Resources.Claims) > 0 })
	}
	return strconv.FormatBool(claims)
}

// counts reports whether the pod counts in the provisioning metrics. It is false if no node was found or planned for
// the pod yet. It is also false if its NodePool was deleted or the NodePool's nodes fail to register, because Karpenter
// does not cause such delays.
func (c *Pods) counts(ctx context.Context, m moments) (bool, error) {
	if m.schedulable.IsZero() || m.pool == "" {
		return !m.schedulable.IsZero(), nil
	}
	pool := &apiv1.NodePool{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: m.pool}, pool); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("get pool %s: %w", m.pool, err)
	}
	health := condition.Get(pool, apiv1.ConditionTypeNodeRegistrationHealthy)
	return health == nil || health.Status != metav1.ConditionFalse, nil
}

func (c *Pods) wasWaiting(key types.NamespacedName, uid types.UID) wait {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waiting[key]; w.uid == uid {
		return w
	}
	return wait{}
}

func (c *Pods) nowWaiting(key types.NamespacedName, w wait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[types.NamespacedName]wait{}
	}
	c.waiting[key] = w
}

func (c *Pods) forget(key types.NamespacedName) {
	c.Timeline.forget(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, key)
}

// onSingle makes the queue get all pods when single objects have series again.
func (c *Pods) onSingle(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	if c.Detail == nil {
		return nil
	}
	enqueue := func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := c.Client.List(ctx, pods, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		for i := range pods.Items {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pods.Items[i])})
		}
		return nil
	}
	c.Detail.enqueue.Store(&enqueue)
	return nil
}

// Register adds the controller to the manager.
func (c *Pods) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).For(&corev1.Pod{}).
		WatchesRawSource(source.Func(c.onSingle)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers.Number(c.CPUMillis, 1, 100), RateLimiter: workers.DefaultLimiter(),
		}).
		Complete(c)
}
