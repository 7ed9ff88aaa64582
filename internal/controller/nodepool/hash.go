package nodepool

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// Hash writes the hash of each NodePool's template to its annotations. New claims get a copy of the annotation.
type Hash struct {
	Client client.Client
	Cloud  cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Hash) Name() string { return "nodepool.hash" }

// Reconcile updates the annotations. If the version of the hash function has changed, it updates the claims first. If that is
// interrupted, the NodePool still has the old version, and the update is repeated.
func (c *Hash) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pool, err := get(ctx, c.Client, c.Cloud.Facts(), req)
	if pool == nil {
		return ctrl.Result{}, err
	}
	hash := pool.Hash()
	if pool.Annotations[apiv1.NodePoolHashVersionAnnotationKey] != apiv1.NodePoolHashVersion {
		if err := c.adopt(ctx, pool, hash); err != nil {
			return written(err)
		}
	}
	before := pool.DeepCopy()
	annotate(pool, hash)
	return written(act.Patch(ctx, c.Client, before, pool))
}

// adopt updates the claims of the NodePool to the current version of the hash function. A claim that has drifted keeps its old
// hash, so that it remains drifted. The other claims matched the NodePool, so they get its new hash.
func (c *Hash) adopt(ctx context.Context, pool *apiv1.NodePool, hash string) error {
	var claims apiv1.NodeClaimList
	if err := c.Client.List(ctx, &claims, client.MatchingLabels{apiv1.NodePoolLabelKey: pool.Name}); err != nil {
		return fmt.Errorf("list claims of pool %s: %w", pool.Name, err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Annotations[apiv1.NodePoolHashVersionAnnotationKey] == apiv1.NodePoolHashVersion {
			continue
		}
		before, kept := claim.DeepCopy(), claim.Annotations[apiv1.NodePoolHashAnnotationKey]
		annotate(claim, hash)
		if condition.Get(claim, apiv1.ConditionTypeDrifted) != nil {
			claim.Annotations[apiv1.NodePoolHashAnnotationKey] = kept
		}
		if err := client.IgnoreNotFound(act.Patch(ctx, c.Client, before, claim)); err != nil {
			return err
		}
	}
	return nil
}

// annotate sets the hash and the version of the hash function.
func annotate(o client.Object, hash string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[apiv1.NodePoolHashAnnotationKey] = hash
	annotations[apiv1.NodePoolHashVersionAnnotationKey] = apiv1.NodePoolHashVersion
	o.SetAnnotations(annotations)
}

// Register adds the controller to the manager.
func (c *Hash) Register(mgr ctrl.Manager) error {
	return overPools(mgr, c.Name(), workers.Number(c.CPUMillis, minWorkers, maxWorkers)).Complete(c)
}
