package inputs

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/timeout"
)

// patience is how long one pool's instance types may take before a round goes on without it.
const patience = 15 * time.Second

// WithInstanceTypes returns s with the instance types of every usable or static pool that the provider manages. A pool whose types cannot be had
// is left without any for this round, and logged: the others go on.
func WithInstanceTypes(ctx context.Context, c clock.Clock, provider cloud.Provider, s *model.Snapshot) *model.Snapshot {
	ctx, cancel := timeout.Context(ctx, c, patience)
	defer cancel()
	pools := s.Pools()
	found, errs := make([][]*model.InstanceType, len(pools)), make([]error, len(pools))
	var g errgroup.Group
	for i, p := range pools {
		if !provider.Facts().Manages(p.Object.Spec.Template.Spec.NodeClassRef) || !p.Usable().OK() && !p.Static() {
			continue
		}
		g.Go(func() error {
			found[i], errs[i] = provider.InstanceTypes(ctx, p.Object)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return s
	}
	types := make(map[string][]*model.InstanceType, len(pools))
	for i, p := range pools {
		if errs[i] != nil {
			tellSkipped(ctx, p, errs[i])
			continue
		}
		types[p.Name] = found[i]
	}
	return s.Apply(model.Delta{Types: types})
}

// tellSkipped logs that a NodePool has no instance types. It is no error while its node class is not ready: the conditions of
// the NodePool report that.
func tellSkipped(ctx context.Context, p *model.Pool, err error) {
	const message = "skipping NodePool: instance types unavailable"
	log := ctrl.LoggerFrom(ctx).WithValues("NodePool", klog.KRef("", p.Name))
	var notReady *cloud.NodeClassNotReadyError
	if errors.As(err, &notReady) {
		log.Info(message, "error", err.Error())
		return
	}
	log.Error(err, message)
}
