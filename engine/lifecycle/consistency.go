package lifecycle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// consistentPercent is the least share of the promised capacity that a node must report.
const consistentPercent = 90

// Shortfall returns one sentence for each requested resource of which the node reports less than 90 % of the capacity
// in the claim's status.
func Shortfall(claim *apiv1.NodeClaim, node *corev1.Node) []string {
	var list []string
	for _, name := range model.RequestsOf(claim.Spec.Resources.Requests).Names() {
		want, have := claim.Status.Capacity[name], node.Status.Capacity[name]
		if have.AsApproximateFloat64()*100 >= want.AsApproximateFloat64()*consistentPercent {
			continue
		}
		list = append(list, fmt.Sprintf("expected %s of %s, the node reports %s", want.String(), name, have.String()))
	}
	return list
}
