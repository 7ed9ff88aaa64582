package aws

import (
	"context"
	"fmt"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/launch"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
)

// check finds out by dry runs of EC2 whether nodes of the class could be launched. The dry runs request only what the
// pools of the class may launch, because the account may have no permission for anything else.
func (p *Provider) check(ctx context.Context, class *awsv1.EC2NodeClass) (nodeclass.Finding, error) {
	types, err := p.catalog.Types(class)
	if err != nil {
		return nodeclass.Finding{}, err
	}
	group, err := p.group(ctx, class)
	if err != nil {
		return nodeclass.Finding{}, err
	}
	pools, err := p.poolsOf(ctx, class)
	if err != nil {
		return nodeclass.Finding{}, err
	}
	f, err := p.launcher.Check(ctx, launch.Request{
		Class: class, Types: usable(types, pools), PlacementGroup: group,
		Tags: instances.OwnTags(p.config.Settings.ClusterName, "", class),
	}, launch.CheckOptions{DryRun: !p.config.Settings.DisableDryRun, Tenancy: tenancy(pools)})
	return nodeclass.Finding{Reason: f.Reason, Message: f.Message, Again: f.Again}, err
}

// poolsOf returns the requirements of the pools that use the class.
func (p *Provider) poolsOf(ctx context.Context, class *awsv1.EC2NodeClass) ([]require.Set, error) {
	var list apiv1.NodePoolList
	if err := p.config.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	aliases := apiv1.CoreLabels().With(awsv1.Labels()).Aliases
	var out []require.Set
	for i := range list.Items {
		spec := list.Items[i].Spec.Template.Spec
		if fixedFacts().Manages(spec.NodeClassRef) && spec.NodeClassRef.Name == class.Name {
			out = append(out, require.FromSpec(spec.Requirements).Normalize(aliases))
		}
	}
	return out, nil
}

// usable returns the types that some pool may launch. It returns all types if the pools may launch none of them.
func usable(types []*model.InstanceType, pools []require.Set) []*model.InstanceType {
	var out []*model.InstanceType
	for _, t := range types {
		for _, reqs := range pools {
			if _, ok := reqs.Intersects(t.Requirements); ok {
				out = append(out, t)
				break
			}
		}
	}
	if len(out) == 0 {
		return types
	}
	return out
}

// tenancy returns the tenancy of the dry runs: dedicated if some pool requires it, else default.
func tenancy(pools []require.Set) string {
	for _, reqs := range pools {
		if r, ok := reqs.Get(awsv1.LabelInstanceTenancy); ok && !r.Has(awsv1.TenancyDefault) && r.Has(awsv1.TenancyDedicated) {
			return awsv1.TenancyDedicated
		}
	}
	return awsv1.TenancyDefault
}
