package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// conditionPeriod is the interval at which the ages of conditions are updated.
const conditionPeriod = 30 * time.Second

// nodeEvents is the greatest number of events about conditions of Nodes in a second. If a zone fails, four conditions of each of its
// nodes change at once.
const nodeEvents = 5

// conditionWorkers is small, because a reconcile takes only a few map operations.
const conditionWorkers = 10

// Conditions reports changes of the status conditions of objects of one kind by metrics and events. It also measures how long
// deletions take. There is one controller for each kind.
//
// It compares an object with its state at the last reconcile. At its first reconcile, an object counts as changed only if it was
// created after the controller started. An older object may have changed long ago.
type Conditions struct {
	client  client.Client
	clock   clock.PassiveClock
	events  telemetry.Recorder
	metrics *telemetry.ConditionMetrics
	kind    schema.GroupVersionKind
	classes []schema.GroupVersionKind
	detail  *Detail
	// started is when the controller was created. It is truncated to seconds, as creation times are.
	started time.Time

	// nodes limits the events about Nodes.
	nodes *rate.Limiter

	series series

	mu   sync.Mutex // guards seen
	seen map[types.NamespacedName]sight
}

// A sight is the state of an object at its last reconcile.
type sight struct {
	uid        types.UID
	conditions map[string]metav1.Condition
	// deleting is the deletion timestamp, or zero. finalizers is true if the object has finalizers.
	deleting   time.Time
	finalizers bool
	labels     labels
}

// ConditionOptions are the options that are equal for all Conditions.
type ConditionOptions struct {
	Client  client.Client
	Clock   clock.PassiveClock
	Events  telemetry.Recorder
	Metrics *telemetry.ConditionMetrics
	Facts   cloud.Facts
	// Detail decides whether single nodes and NodeClaims have series; nil means always.
	Detail *Detail
}

// NewConditions returns the controller of one kind. The kind must have been passed to NewConditionMetrics in lower
// case, and conditionsOf must support it.
func NewConditions(kind schema.GroupVersionKind, o ConditionOptions) (*Conditions, error) {
	if o.Metrics.Kind(lower(kind.Kind)) == nil {
		return nil, fmt.Errorf("no metrics are declared for conditions of kind %s", kind.Kind)
	}
	return &Conditions{
		client: o.Client, clock: o.Clock, events: o.Events, metrics: o.Metrics, kind: kind, classes: o.Facts.NodeClasses,
		detail: o.Detail, nodes: rate.NewLimiter(nodeEvents, 2*nodeEvents),
		started: o.Clock.Now().Truncate(time.Second), seen: map[types.NamespacedName]sight{},
	}, nil
}

// Name is the controller's name in logs and metrics.
func (c *Conditions) Name() string { return "status." + lower(c.kind.Kind) }

// Reconcile reports the changes of one object since its last reconcile, and is repeated after conditionPeriod.
func (c *Conditions) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o, err := newObject(c.client.Scheme(), c.kind)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := c.client.Get(ctx, req.NamespacedName, o); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("get %s %s: %w", c.kind.Kind, req.NamespacedName, err)
		}
		c.gone(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	before, known := c.look(req.NamespacedName, o)
	if known && before.uid != o.GetUID() {
		c.gone(req.NamespacedName) // an object with another UID has the name now
		before, known = c.look(req.NamespacedName, o)
	}
	is := c.sightOf(o)
	if known {
		c.tellChanges(o, before, is)
	}
	c.remember(req.NamespacedName, is)
	c.series.replace(req.String(), c.gauges(req.NamespacedName, is))
	return ctrl.Result{RequeueAfter: conditionPeriod}, nil
}

// look returns the state of the object at its last reconcile. At the first reconcile of an object that was created after the
// start of the controller, it returns a state without conditions. For an older object, ok is false.
func (c *Conditions) look(key types.NamespacedName, o client.Object) (before sight, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.seen[key]; ok {
		return s, true
	}
	return sight{uid: o.GetUID()}, !o.GetCreationTimestamp().Time.Before(c.started)
}

func (c *Conditions) remember(key types.NamespacedName, s sight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[key] = s
}

func (c *Conditions) sightOf(o client.Object) sight {
	s := sight{
		uid: o.GetUID(), conditions: map[string]metav1.Condition{}, labels: labelsOf(o, c.classes),
		finalizers: len(o.GetFinalizers()) > 0,
	}
	if at := o.GetDeletionTimestamp(); at != nil {
		s.deleting = at.Time
	}
	for _, condition := range conditionsOf(o) {
		s.conditions[condition.Type] = condition
	}
	return s
}

// tellChanges reports each change of the status of a condition.
func (c *Conditions) tellChanges(o client.Object, before, is sight) {
	for _, t := range slices.Sorted(maps.Keys(is.conditions)) {
		now := is.conditions[t]
		was, had := before.conditions[t]
		if had && was.Status == now.Status || !had && now.Status == metav1.ConditionUnknown {
			continue // a new condition with status Unknown has no information
		}
		from, status := "absent", metav1.ConditionUnknown // a missing condition counts as Unknown
		began := o.GetCreationTimestamp().Time
		if had {
			from, status, began = string(was.Status), was.Status, was.LastTransitionTime.Time
		}
		c.each(func(m *telemetry.StatusMetrics, extra []string) {
			m.TransitionsTotal.WithLabelValues(with(extra, t, string(now.Status), now.Reason)...).Inc()
			m.TransitionSeconds.WithLabelValues(with(extra, t, string(status), string(now.Status))...).
				Observe(since(began, now.LastTransitionTime.Time))
		}, is.labels)
		if c.published(o, had) {
			c.tellEvent(o, from, now)
		}
	}
}

// gauges returns the series of an object.
func (c *Conditions) gauges(key types.NamespacedName, s sight) []sample {
	var list []sample
	now := c.clock.Now()
	if c.detail.Coarse() && (c.kind.Kind == "Node" || c.kind.Kind == "NodeClaim") {
		c.each(func(m *telemetry.StatusMetrics, extra []string) {
			for t, condition := range s.conditions {
				list = append(list, sample{m.Count, with(extra, "", "", t, string(condition.Status), condition.Reason), shared})
			}
		}, s.labels)
		return list
	}
	c.each(func(m *telemetry.StatusMetrics, extra []string) {
		for t, condition := range s.conditions {
			l := with(extra, key.Namespace, key.Name, t, string(condition.Status), condition.Reason)
			list = append(list,
				sample{m.Count, l, 1},
				sample{m.CurrentStatusSeconds, l, since(condition.LastTransitionTime.Time, now)})
		}
		if !s.deleting.IsZero() {
			list = append(list, sample{
				m.TerminationCurrentTimeSeconds, with(extra, key.Namespace, key.Name), since(s.deleting, now),
			})
		}
	}, s.labels)
	return list
}

// gone deletes the series and the stored state of an object that no longer exists. If an earlier reconcile saw the deletion
// timestamp, it reports the duration of the deletion. If the object also had finalizers, it publishes an event.
func (c *Conditions) gone(key types.NamespacedName) {
	c.series.replace(key.String(), nil)
	c.mu.Lock()
	s, known := c.seen[key]
	delete(c.seen, key)
	c.mu.Unlock()
	if !known || s.deleting.IsZero() {
		return
	}
	c.each(func(m *telemetry.StatusMetrics, extra []string) {
		m.TerminationDurationSeconds.WithLabelValues(extra...).Observe(since(s.deleting, c.clock.Now()))
	}, s.labels)
	if s.finalizers {
		c.tellFinalized(key, s)
	}
}

// each calls f twice: with the metrics of the kind and with those of any kind. extra has the values of their last labels.
func (c *Conditions) each(f func(m *telemetry.StatusMetrics, extra []string), l labels) {
	f(c.metrics.Kind(lower(c.kind.Kind)), []string{l.pool, l.class})
	f(c.metrics.AnyKind(), []string{l.pool, l.class, c.kind.Group, c.kind.Kind})
}

// with returns values followed by extra.
func with(extra []string, values ...string) []string { return append(values, extra...) }

// Register adds the controller to the manager.
func (c *Conditions) Register(mgr ctrl.Manager) error {
	o, err := newObject(mgr.GetScheme(), c.kind)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).For(o).
		WithOptions(controller.Options{MaxConcurrentReconciles: conditionWorkers, RateLimiter: workers.DefaultLimiter()}).
		Complete(c)
}
