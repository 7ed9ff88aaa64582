package backtest

import (
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// NewPolicy returns the policy of the case: its NodePools and the objects on which decisions depend, without nodes, pods
// and static NodePools. The warnings are sentences for users about objects that the replay ignores.
func NewPolicy(name string, c *offline.Case, p pack.Options, d disrupt.Options) (policy Policy, warnings []string) {
	p.Labels = c.Labels
	if len(c.Spread.Constraints) > 0 {
		p.DefaultSpread = c.Spread.Of()
	}
	d.Pack = p
	o := c.Delta
	if len(o.Virtual) > 0 {
		warnings = append(warnings, "policy "+name+": CapacityBuffers are not replayed")
	}
	o.Pods, o.Virtual, o.Nodes, o.Claims, o.Gone = nil, nil, nil, nil, nil
	var static []string
	o.Pools = slices.DeleteFunc(slices.Clone(o.Pools), func(p *apiv1.NodePool) bool {
		if p.Spec.Replicas != nil {
			static = append(static, p.Name)
		}
		return p.Spec.Replicas != nil
	})
	if len(static) > 0 {
		warnings = append(warnings, "policy "+name+": static NodePools are not replayed: "+strings.Join(static, ", "))
	}
	o.PDBs = nil
	for _, b := range c.Delta.PDBs { // without a status, the engine computes the status from the pods
		b = b.DeepCopy()
		b.Status = policyv1.PodDisruptionBudgetStatus{}
		o.PDBs = append(o.PDBs, b)
	}
	return Policy{Name: name, Objects: o, DynamicResources: c.DynamicResources, Options: d}, warnings
}

// WithConsolidation returns the policy with another consolidationPolicy in all NodePools, and with another
// consolidateAfter unless after is nil.
func (p Policy) WithConsolidation(name string, policy apiv1.ConsolidationPolicy, after *apiv1.NillableDuration) Policy {
	pools := make([]*apiv1.NodePool, len(p.Objects.Pools))
	for i, o := range p.Objects.Pools {
		o = o.DeepCopy()
		o.Spec.Disruption.ConsolidationPolicy = policy
		if after != nil {
			o.Spec.Disruption.ConsolidateAfter = *after
		}
		pools[i] = o
	}
	p.Name, p.Objects.Pools = name, pools
	return p
}
