package inputs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/parallel"
	"github.com/karpenter-go/karpenter/internal/timeout"
)

// patience is the maximum time for listing the instance types of all pools. After it, the round continues with the last
// lists in place of the missing ones.
const patience = 15 * time.Second

// LastTypes caches the last instance types of each pool. The zero value is empty. The cache may be lost: then a pool whose types
// cannot be listed has no types. It is not safe for concurrent use.
type LastTypes struct {
	pools   map[string]typesOfPool
	changes int
}

// Changes returns a number that grows when a list of types changes. A new type object with the same content counts as a change.
func (l *LastTypes) Changes() int { return l.changes }

// typesOfPool are the types of one version of a pool.
type typesOfPool struct {
	uid        types.UID
	generation int64
	list       []*model.InstanceType
}

// of returns the last types of the pool, if the pool has not changed since they were listed.
func (l *LastTypes) of(o *apiv1.NodePool) ([]*model.InstanceType, bool) {
	known, ok := l.pools[o.Name]
	return known.list, ok && known.uid == o.UID && known.generation == o.Generation
}

// WithInstanceTypes returns s with the instance types of the pools that the provider manages: of every usable or static pool, and of
// those with NodeClaims that are not launched, because pods were planned for these. If the
// types of a pool cannot be listed, the last list for the same version of the pool is used. Otherwise its pods would be
// planned onto pools with lower weight. If there is no such list, or if the node class is not ready, the pool has no types
// in this round. All these cases are logged. The counts of capacity reservations are less the NodeClaims that are not launched.
func WithInstanceTypes(
	ctx context.Context, c clock.Clock, provider cloud.Provider, last *LastTypes, s *model.Snapshot,
) *model.Snapshot {
	ctx, cancel := timeout.Context(ctx, c, patience)
	defer cancel()
	pools, launching := s.Pools(), launching(s)
	found := make([][]*model.InstanceType, len(pools))
	errs := parallel.Do(ctx, len(pools), 0, func(i int) (err error) {
		p := pools[i]
		if provider.Facts().Manages(p.Object.Spec.Template.Spec.NodeClassRef) && (p.Usable().OK() || p.Static() || launching[p.Name]) {
			found[i], err = provider.InstanceTypes(ctx, p.Object)
		}
		return err
	})
	all, next := make(map[string][]*model.InstanceType, len(pools)), make(map[string]typesOfPool, len(pools))
	for i, p := range pools {
		list, ok := found[i], errs[i] == nil
		if !ok {
			list, ok = instead(ctx, p, errs[i], last)
		}
		if ok {
			all[p.Name], next[p.Name] = list, typesOfPool{p.Object.UID, p.Object.Generation, list}
		}
	}
	if !maps.EqualFunc(last.pools, next, func(a, b typesOfPool) bool { return slices.Equal(a.list, b.list) }) {
		last.changes++
	}
	last.pools = next
	return lessReserved(s.Apply(model.Delta{Types: all}))
}

// launching returns the names of the pools with NodeClaims that are not launched and not being deleted.
func launching(s *model.Snapshot) map[string]bool {
	pools := map[string]bool{}
	for n := range s.NodesInOrder() {
		if !n.Launched() && n.Claim.DeletionTimestamp == nil {
			pools[n.Pool] = true
		}
	}
	return pools
}

// instead returns the last types of a NodePool for which the provider returned err, and false if there are none. If the
// node class is not ready, it returns false and logs at level info only, because the conditions of the NodePool report it.
func instead(ctx context.Context, p *model.Pool, err error, last *LastTypes) ([]*model.InstanceType, bool) {
	const message = "skipping NodePool: instance types unavailable"
	log := ctrl.LoggerFrom(ctx).WithValues("NodePool", klog.KRef("", p.Name))
	var notReady *cloud.NodeClassNotReadyError
	if errors.As(err, &notReady) {
		log.Info(message, "error", err.Error())
		return nil, false
	}
	list, ok := last.of(p.Object)
	if !ok {
		log.Error(err, message)
		return nil, false
	}
	log.Error(err, "failed to list instance types, those of last time stay in use")
	return list, true
}
