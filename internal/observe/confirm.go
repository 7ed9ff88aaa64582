package observe

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// phantom is how long the watch may take to deliver a claim that Karpenter created. After that, Confirm reads the claim from the
// API server. The watch never delivers a claim that was created and deleted while the watch was interrupted.
const phantom = 2 * time.Minute

// ReadClaims reads all claims from the API server and applies those that the watch has not delivered. It does so once: later calls
// do nothing. Without it, a new leader whose watch is delayed would create claims again that the former leader has created.
func (c *Cluster) ReadClaims(ctx context.Context) error {
	if c.Live == nil || c.claimsRead.Load() {
		return nil
	}
	var list apiv1.NodeClaimList
	if err := c.Live.List(ctx, &list); err != nil {
		return fmt.Errorf("list claims before the first decision: %w", err)
	}
	for i := range list.Items {
		c.Assume(&list.Items[i])
	}
	c.claimsRead.Store(true)
	return nil
}

// Confirm reads from the API server the claims that Karpenter created more than phantom ago and that the watch has not delivered.
// It removes the claims that do not exist, and updates the others. If the API server cannot be read, it returns the error and
// keeps all.
func (c *Cluster) Confirm(ctx context.Context) error {
	unseen := c.unseen()
	if c.Live == nil || len(unseen) == 0 {
		return nil
	}
	var list apiv1.NodeClaimList
	if err := c.Live.List(ctx, &list); err != nil {
		return fmt.Errorf("list claims that the watch has not shown: %w", err)
	}
	found := make(map[types.UID]*apiv1.NodeClaim, len(list.Items))
	for i := range list.Items {
		found[list.Items[i].UID] = &list.Items[i]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for _, ref := range unseen {
		v, ok := c.assumed[ref]
		if !ok || v.unseen.IsZero() {
			continue // the watch has delivered the claim in the meantime
		}
		o, exists := found[v.uid]
		if !exists {
			delete(c.assumed, ref)
			c.drop(ref)
			continue
		}
		v = versionOf(o)
		v.unseen = now
		c.assumed[ref] = v
		c.edits.Add(1)
		c.see(ref, o)
	}
	return nil
}

// ConfirmOrLog calls Confirm and logs its error.
func (c *Cluster) ConfirmOrLog(ctx context.Context) {
	if err := c.Confirm(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to confirm claims, they count as existing")
	}
}

// unseen returns the claims that Karpenter created more than phantom ago and that the watch has not delivered.
func (c *Cluster) unseen() []model.Ref {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refs []model.Ref
	for ref, v := range c.assumed {
		if !v.unseen.IsZero() && c.clock.Since(v.unseen) > phantom {
			refs = append(refs, ref)
		}
	}
	return refs
}

// removals are the UIDs of deleted claims, oldest first. They are kept at least for phantom, which is longer than a write
// to the API server takes.
type removals struct {
	order []removal
	uids  map[types.UID]bool
}

type removal struct {
	uid types.UID
	at  time.Time
}

func (r *removals) add(uid types.UID, now time.Time) {
	for len(r.order) > 0 && now.Sub(r.order[0].at) > phantom {
		delete(r.uids, r.order[0].uid)
		r.order = r.order[1:]
	}
	if uid == "" || r.uids[uid] {
		return
	}
	if r.uids == nil {
		r.uids = map[types.UID]bool{}
	}
	r.uids[uid] = true
	r.order = append(r.order, removal{uid: uid, at: now})
}

func (r *removals) has(uid types.UID) bool { return r.uids[uid] }
