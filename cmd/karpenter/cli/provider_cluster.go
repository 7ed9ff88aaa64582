package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/provider/remote/check"
)

// checkQPS is the number of requests per second of the check of a provider.
const checkQPS = 100

// checkedCluster stores the NodeClaims of a check in a cluster.
type checkedCluster struct {
	client client.Client
	writer act.Writer
}

var _ check.Cluster = (*checkedCluster)(nil)

// openCheckedCluster returns the cluster in KUBECONFIG, and its NodePool with the name. It returns an error if the
// cluster has NodeClaims.
func openCheckedCluster(ctx context.Context, pool string) (*checkedCluster, *apiv1.NodePool, error) {
	c, err := watchingClient(checkQPS)
	if err != nil {
		return nil, nil, err
	}
	found := &apiv1.NodePool{}
	if err := c.Get(ctx, client.ObjectKey{Name: pool}, found); err != nil {
		return nil, nil, coded{exitUnreachable, fmt.Errorf("get NodePool %s: %w", pool, err)}
	}
	var claims apiv1.NodeClaimList
	if err := c.List(ctx, &claims); err != nil {
		return nil, nil, coded{exitUnreachable, fmt.Errorf("list NodeClaims: %w", err)}
	}
	if n := len(claims.Items); n > 0 {
		return nil, nil, fmt.Errorf("the cluster has NodeClaims (%d), and the check needs one without any", n)
	}
	return &checkedCluster{client: c, writer: act.Writer{Client: c}}, found, nil
}

// Create implements check.Cluster.
func (c *checkedCluster) Create(ctx context.Context, claim *apiv1.NodeClaim) error {
	return c.writer.CreateClaim(ctx, claim)
}

// Claim implements check.Cluster.
func (c *checkedCluster) Claim(ctx context.Context, name string) (*apiv1.NodeClaim, error) {
	var claim apiv1.NodeClaim
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &claim); err != nil {
		return nil, fmt.Errorf("get NodeClaim %s: %w", name, err)
	}
	return &claim, nil
}

// Launched implements check.Cluster.
func (c *checkedCluster) Launched(ctx context.Context, name string, i *cloud.Instance) error {
	claim, err := c.Claim(ctx, name)
	if err != nil {
		return err
	}
	before := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	maps.Copy(claim.Labels, i.Labels)
	maps.Copy(claim.Annotations, i.Annotations)
	if err := c.writer.Merge(ctx, before, claim); err != nil {
		return fmt.Errorf("write labels of the instance to NodeClaim %s: %w", name, err)
	}
	before = claim.DeepCopy()
	claim.Status.ProviderID, claim.Status.ImageID = i.ProviderID, i.ImageID
	claim.Status.Capacity, claim.Status.Allocatable = i.Capacity, i.Allocatable
	condition.SetTrue(claim, apiv1.ConditionTypeLaunched, clock.RealClock{}.Now())
	if err := c.writer.PatchStatus(ctx, before, claim); err != nil {
		return fmt.Errorf("write status of NodeClaim %s: %w", name, err)
	}
	return nil
}

// Remove implements check.Cluster.
func (c *checkedCluster) Remove(ctx context.Context, name string) error {
	claim, err := c.Claim(ctx, name)
	if err != nil {
		return client.IgnoreNotFound(errors.Unwrap(err))
	}
	_, err = c.writer.DeleteClaim(ctx, claim)
	return err
}
