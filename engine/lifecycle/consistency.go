package lifecycle

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// consistentPercent is the least share of the promised capacity that a node must report.
const consistentPercent = 90

// Shortfall returns one sentence for each requested resource of which the node reports less than 90 % of the capacity
// in the claim's status.
func Shortfall(claim *apiv1.NodeClaim, node *corev1.Node) []string {
	var list []string
	promised, reported := model.CapacityOf(claim.Status.Capacity), model.CapacityOf(node.Status.Capacity)
	for _, name := range model.RequestsOf(claim.Spec.Resources.Requests).Names() {
		want, have := claim.Status.Capacity[name], node.Status.Capacity[name]
		share := have.AsApproximateFloat64() * 100 / want.AsApproximateFloat64()
		if want.IsZero() || share >= consistentPercent {
			continue
		}
		list = append(list, fmt.Sprintf("Expected %s of resource %s, but node %s reports %s (%.0f%%, at least %d%% required)",
			units.Amount(name, promised[name], units.Down), name, node.Name, units.Amount(name, reported[name], units.Down),
			math.Floor(share), consistentPercent))
	}
	return list
}
