package explain

import (
	"fmt"

	"github.com/karpenter-go/karpenter/engine/model"
)

// poolFix returns the change of a pool that the verdict alone suggests.
func poolFix(pool *model.Pool, v model.Verdict) string {
	switch v.Rule {
	case model.RulePool:
		if !pool.Static() {
			return "look at the conditions of NodePool " + pool.Name
		}
	case model.RuleLimit:
		return fmt.Sprintf("raise spec.limits.%s of NodePool %s by %s, to %s", v.Resource, pool.Name,
			model.Amount(v.Resource, v.By), model.Amount(v.Resource, pool.Limits[v.Resource]+v.By))
	case model.RuleMinValues:
		return fmt.Sprintf("lower minValues of %s in NodePool %s, allow it more values, or run with --min-values-policy BestEffort",
			v.Subject, pool.Name)
	}
	return plainFix(v)
}

// plainFix returns the change that the verdict suggests, whatever the pool; "" if it suggests none.
func plainFix(v model.Verdict) string {
	switch v.Rule {
	case model.RuleNoPool:
		return "add a NodePool, or look at the conditions of those there are"
	case model.RuleEffort:
		return "try again: the rest is planned in the next round"
	}
	return ""
}
