package explain

import (
	"fmt"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// inPool returns the verdict about a pool as an obstacle, with a fix that names the pool if there is one.
func (e *Explainer) inPool(pool *model.Pool, v model.Verdict) Obstacle {
	o := obstacleOf(v)
	switch v.Rule {
	case model.RuleLimit:
		o.Fix = fmt.Sprintf("raise spec.limits.%s of NodePool %s to at least %s", v.Resource, pool.Name,
			units.Amount(v.Resource, pool.Limits[v.Resource]+v.By, units.Up))
	case model.RuleMinValues:
		o.Fix = fmt.Sprintf("lower minValues of %s in NodePool %s, allow more values, or set --min-values-policy=BestEffort",
			v.Key, pool.Name)
	case model.RuleTopology:
		if fix := e.moreDomains(pool, v); fix != "" {
			o.Fix = fix
		}
	}
	return o
}

// moreDomains returns how to give the pool more domains or to relax the constraint, empty if more domains do not help.
func (e *Explainer) moreDomains(pool *model.Pool, v model.Verdict) string {
	more := fmt.Sprintf("allow more values of %s in NodePool %s", v.Key, pool.Name)
	if !e.labels.WellKnown.Has(v.Key) && !pool.Requirements.Has(v.Key) {
		more = fmt.Sprintf("add label %s to spec.template.spec.requirements of NodePool %s", v.Key, pool.Name)
	}
	switch v.Cause {
	case model.CauseSpread:
		return more + ", or set whenUnsatisfiable: ScheduleAnyway"
	case model.CauseAntiAffinity, model.CauseOthersAffinity:
		return more + ", or use preferredDuringSchedulingIgnoredDuringExecution"
	}
	return ""
}
