// Package handover opens the replacements of a command one after another to the pods that they were launched for
// (docs/disruption.md, Handover).
package handover

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/singleton"
	"github.com/karpenter-go/karpenter/internal/observe"
)

// A Controller opens replacements. There is one for the cluster.
type Controller struct {
	Cluster *observe.Cluster
	Actor   *act.Actor
	Clock   clock.Clock

	// next is the earliest time of the next pass.
	next time.Time
	// stages are how far commands have come.
	stages map[string]stage
}

// A stage is how many pods were moving when that last changed, and when.
type stage struct {
	moving int
	since  time.Time
}

const (
	// pause is the time between two passes. It is also the time that the scheduler has for the last pods of a stage.
	pause = 500 * time.Millisecond
	// patience is how long a stage may stand still before the next begins beside it: its pods may be held by a disruption
	// budget for hours, and capacity that is paid for must not lie idle meanwhile.
	patience = 10 * time.Second
	// syncing is how often to ask whether the first lists are in.
	syncing = 100 * time.Millisecond
)

// Name returns the controller's name.
func (c *Controller) Name() string { return "handover" }

// Register adds the controller to mgr. Nodes wake it.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		Watches(&corev1.Node{}, singleton.Handler()).
		Complete(c)
}

// Reconcile opens the nodes whose turn it is.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() {
		return ctrl.Result{RequeueAfter: syncing}, nil
	}
	now := c.Clock.Now()
	if wait := c.next.Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.next = now.Add(pause)
	under := disrupt.Handovers(c.Cluster.Snapshot())
	stages := make(map[string]stage, len(under))
	var errs []error
	for i := range under {
		h := &under[i]
		st, known := c.stages[h.Command]
		if !known || st.moving != h.Moving || !h.Begun {
			st = stage{moving: h.Moving, since: now}
		}
		if h.Due || h.Begun && (h.Moving == 0 && now.Sub(st.since) >= pause || now.Sub(st.since) >= patience) {
			errs = append(errs, c.open(ctx, h.Next))
			st.since = now
		}
		stages[h.Command] = st
	}
	c.stages = stages
	if len(under) == 0 {
		return ctrl.Result{}, errors.Join(errs...)
	}
	return ctrl.Result{RequeueAfter: pause}, errors.Join(errs...)
}

func (c *Controller) open(ctx context.Context, n *model.Node) error {
	written, err := c.Actor.Open(ctx, n)
	if client.IgnoreNotFound(err) == nil || apierrors.IsConflict(err) {
		err = nil // gone, or written by others: the next pass sees it
	}
	c.Cluster.Assume(written...)
	if len(written) > 0 {
		ctrl.LoggerFrom(ctx).V(1).Info("opened a replacement to the pods that it was launched for", "Node", n.Object.Name)
	}
	return err
}

// Awaiting returns those of the pods, by UID, whose new node is not open yet.
func (c *Controller) Awaiting(pods []*corev1.Pod) map[types.UID]bool {
	s := c.Cluster.Snapshot()
	awaiting := map[types.UID]bool{}
	for _, o := range pods {
		if p, ok := s.Pod(o.Namespace + "/" + o.Name); ok && p.UID == o.UID && disrupt.Awaits(s, p) {
			awaiting[o.UID] = true
		}
	}
	return awaiting
}
