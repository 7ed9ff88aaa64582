package explain

import (
	"fmt"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
)

// poolFix returns the change of the pool or the pod that the verdict suggests, empty if it suggests none.
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

// plainFix returns the change that the verdict suggests for any pool, empty if it suggests none.
func plainFix(v model.Verdict) string {
	switch v.Rule {
	case model.RuleNoPool:
		return "add a NodePool, or look at the conditions of those there are"
	case model.RuleOversized:
		return fmt.Sprintf("lower the %s that its containers request", v.Resource)
	case model.RuleVolume:
		if strings.HasSuffix(v.Subject, "does not exist") {
			return "create it"
		}
	case model.RuleEffort:
		return "try again: the rest is planned in the next round"
	}
	return ""
}

// topologyFix returns how to relax an affinity, anti-affinity or spread constraint, or how to give the pool more
// domains. subject is that of RuleTopology.
func (e *Explainer) topologyFix(pool *model.Pool, subject string) string {
	kind, key, _ := strings.Cut(subject, " over ")
	more := fmt.Sprintf("allow more values of %s in NodePool %s", key, pool.Name)
	if !e.labels.WellKnown.Has(key) && !pool.Requirements.Has(key) {
		more = fmt.Sprintf("give nodes the label %s by spec.template.spec.requirements of NodePool %s", key, pool.Name)
	}
	switch kind {
	case "topology spread":
		return more + ", or set whenUnsatisfiable: ScheduleAnyway"
	case "pod affinity":
		return "start the pods that it names first, or prefer to be with them instead of requiring it"
	case "pod anti-affinity", "another pod's anti-affinity":
		return more + ", or prefer to be apart instead of requiring it"
	}
	return ""
}
