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

const (
	// maxCostBytes is the maximum number of bytes of an invalid disruption cost that are logged.
	maxCostBytes = 64
	// maxCostLines is the maximum number of pods with an invalid disruption cost that one pass logs. A Deployment may have thousands.
	maxCostLines = 10
)

// tellInvalidCosts logs pods on nodes of NodePools whose disruption cost is invalid, once for each value of a pod, and at most
// maxCostLines in a pass. The other pods are not logged. It forgets pods that the snapshot does not have.
func (c *Controller) tellInvalidCosts(ctx context.Context, s *model.Snapshot) {
	logged, lines := c.invalidCosts, 0
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
			text = strings.Clone(text[:min(len(text), maxCostBytes)])
			c.invalidCosts[p.Object.UID] = text
			if before, ok := logged[p.Object.UID]; ok && before == text || lines == maxCostLines {
				continue
			}
			lines++
			ctrl.LoggerFrom(ctx).Info("invalid disruption cost counts as 0: a whole number of 32 bits is required",
				"Pod", klog.KRef(p.Object.Namespace, p.Object.Name), "annotation", apiv1.DisruptionCostAnnotationKey, "value", text)
		}
	}
}
