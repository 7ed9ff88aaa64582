package decisionlog

import (
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// Launched returns the launches in the form of the decision log, in their order.
func Launched(launches []act.Launch) []decisions.Launched {
	out := make([]decisions.Launched, len(launches))
	for i, l := range launches {
		out[i] = decisions.Launched{Claim: l.Claim.Name, Node: l.Node}
	}
	return out
}
