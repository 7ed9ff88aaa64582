package disruption

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// longestCost is the number of bytes of an invalid disruption cost that are logged.
const longestCost = 64

// tellInvalidCosts logs the pods on nodes of NodePools whose disruption cost is invalid, once for each value of a pod. It
// forgets pods that the snapshot does not have.
func (c *Controller) tellInvalidCosts(ctx context.Context, s *model.Snapshot) {
	told := c.invalidCosts
	c.invalidCosts = map[types.UID]string{}
	for _, n := range s.Nodes() {
		if !n.Managed() || n.Pool == "" {
			continue
		}
		for _, p := range n.Pods {
			text, ok := problem.InvalidCost(p)
			if !ok {
				continue
			}
			text = strings.Clone(text[:min(len(text), longestCost)])
			c.invalidCosts[p.Object.UID] = text
			if before, ok := told[p.Object.UID]; ok && before == text {
				continue
			}
			ctrl.LoggerFrom(ctx).Info("invalid disruption cost counts as 0: a whole number of 32 bits is required",
				"Pod", klog.KRef(p.Object.Namespace, p.Object.Name), "annotation", apiv1.DisruptionCostAnnotationKey, "value", text)
		}
	}
}
