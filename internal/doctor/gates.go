package doctor

import (
	"context"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	apiv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/finding"
)

// gates reports objects without effect, because the feature gate that they need is off. It reports nothing if the Deployment of the
// controller was not found, because then the gates are not known.
func (c *Cluster) gates(ctx context.Context) {
	if c.deployment == nil {
		return
	}
	var overlays apiv1alpha1.NodeOverlayList
	c.gate(ctx, "NodeOverlay", "nodeOverlay", "NodeOverlay", &overlays, func() int { return len(overlays.Items) })
	var buffers autoscalingv1beta1.CapacityBufferList
	c.gate(ctx, "CapacityBuffer", "capacityBuffer", "CapacityBuffer", &buffers, func() int { return len(buffers.Items) })
	var pools apiv1.NodePoolList
	c.gate(ctx, "StaticCapacity", "staticCapacity", "static NodePool", &pools, func() (static int) {
		for i := range pools.Items {
			if pools.Items[i].Spec.Replicas != nil {
				static++
			}
		}
		return static
	})
}

// gate lists the objects that need a gate, if it is off, and reports how many of them there are. value is the name of the gate in the
// values of the chart. Kinds that the API server does not serve are left to crds. No skipped check is reported if the user may not
// read the objects: without the gate, not even the controller may.
func (c *Cluster) gate(ctx context.Context, gate, value, object string, list client.ObjectList, number func() int) {
	if c.gateIsOn(gate) {
		return
	}
	if err := c.Client.List(ctx, list); err != nil {
		if !meta.IsNoMatchError(err) && !apierrors.IsForbidden(err) {
			c.unread("gates", err)
		}
		return
	}
	if n := number(); n > 0 {
		c.found("gates", finding.Warning, "set settings.featureGates."+value+" in the chart, or delete what needs it: docs/feature-gates.md",
			"%s without effect, because the feature gate %s is off", counted(n, object), gate)
	}
}

// gateIsOn reports whether the Deployment switches on a gate that is off by default. Of several entries the last one counts.
func (c *Cluster) gateIsOn(gate string) bool {
	on := false
	for entry := range strings.SplitSeq(c.Setting("feature-gates", "FEATURE_GATES", ""), ",") {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.TrimSpace(name) == gate {
			on, _ = strconv.ParseBool(strings.TrimSpace(value))
		}
	}
	return on
}
