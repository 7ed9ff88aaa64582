package pack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// refusals returns the pods that are not placed, by class, each class with its reasons (see reasons). Refusals are in any
// order.
func (d *draft) refusals(placed []*model.Pod) []model.Refusal {
	left := -len(placed)
	for _, c := range d.problem.Classes {
		left += len(c.Pods)
	}
	if left == 0 {
		return nil
	}
	isPlaced := make(map[*model.Pod]bool, len(placed))
	for _, pod := range placed {
		isPlaced[pod] = true
	}
	var out []model.Refusal
	for _, c := range d.problem.Classes {
		pods := slices.DeleteFunc(slices.Clone(c.Pods), func(pod *model.Pod) bool { return isPlaced[pod] })
		if len(pods) > 0 {
			out = append(out, model.Refusal{Pods: pods, Reasons: d.reasons(c)})
		}
	}
	return out
}

// reasons returns for each pool why it can launch no more nodes for pods of the class. If the class is refused, or if there
// are no pools, it returns a single reason without a pool.
func (d *draft) reasons(c *compile.Class) []model.PoolVerdict {
	p := d.problem.Catalog
	switch {
	case !c.Refused.OK():
		return []model.PoolVerdict{{Verdict: c.Refused}}
	case len(p.Pools)+len(p.Unusable) == 0:
		return []model.PoolVerdict{{Verdict: model.Verdict{Rule: model.RuleNoPool}}}
	}
	var out []model.PoolVerdict
	for _, pool := range p.Pools {
		out = append(out, model.PoolVerdict{Pool: pool.Name, Verdict: d.explain(c, pool)})
	}
	return append(out, p.Unusable...)
}

// explain returns why the pool can launch no node for a pod of the class. It considers only required constraints. If the
// pod has several node terms and the pool can meet none of them, it returns the reason of the term that passes the most
// checks.
func (d *draft) explain(c *compile.Class, pool *catalog.Pool) model.Verdict {
	last := c.Last()
	if taint, refused := last.Tolerations.Refuse(pool.Taints); refused {
		return model.Verdict{Rule: model.RuleTaint, Subject: taint.ToString()}
	}
	if len(pool.Types) == 0 {
		return pool.Empty
	}
	var best model.Verdict
	for i, term := range last.Terms.Terms {
		v := d.problem.Catalog.Explain(pool, term, c.Demand)
		if v.OK() {
			return d.explainRest(c, last, pool)
		}
		if i == 0 || v.Rule > best.Rule {
			best = v
		}
	}
	return best
}

// explainRest returns why the pool can launch no node for the class in stage s, although one of its types holds a pod. The
// reason is a DaemonSet or its host port, a limit, a reservation, minValues, or constraints on other pods. If it is none of
// these, the rule is RuleEffort.
func (d *draft) explainRest(c *compile.Class, s *compile.Stage, pool *catalog.Pool) model.Verdict {
	cat := d.problem.Catalog
	needs := c.Needs(s)
	fit := cat.Fit(needs)
	on := fit.ByPool[pool.Index]
	if on.Set == nil {
		if needs.Daemons = nil; s.Daemons != nil && cat.Fit(needs).ByPool[pool.Index].Set != nil {
			names := daemonSets(d.problem.OnNewNodes(s.Daemons.Avoid))
			return model.Verdict{Rule: model.RuleTopology, Cause: model.CauseDaemons, Subject: names}
		}
		return model.Verdict{Rule: model.RulePorts, Subject: "a DaemonSet pod on every new node uses it"}
	}
	if v := d.explainDaemonAffinity(s); !v.OK() {
		return v
	}
	var nearest model.Verdict
	free := false
	on.Types.Each(func(i int) {
		n, v := d.packed.limits.Allow(pool.Types[i])
		free = free || n > 0
		if nearest.OK() || (v.Resource == nearest.Resource && v.By < nearest.By) {
			nearest = v
		}
	})
	if !free {
		return nearest
	}
	if key, ok := cat.Launches(d.packed.limits, pool, fit); !ok {
		if v := d.explainCharge(pool, on, c.Demand); !v.OK() {
			return v
		}
		return model.Verdict{Rule: model.RuleMinValues, Key: key}
	}
	if len(on.Set.MinValues) > 0 && len(s.Keys) > 0 && len(d.assigned.Choices(c, s)) == 0 { // no domain has enough types
		return model.Verdict{Rule: model.RuleMinValues, Key: on.Set.MinValues[0].Key()}
	}
	if v := d.explainRules(c, s); !v.OK() {
		return v
	}
	return model.Verdict{Rule: model.RuleEffort}
}

// explainDaemonAffinity returns a verdict on the first affinity rule of the stage that selects pods of DaemonSets on new
// nodes, although these pods cannot meet it. That is so for a rule over a label that nodes share. For a rule over the
// hostname it is so if no DaemonSet whose pods the rule selects is certain, or if Stage.DaemonAffinity is nil. Otherwise
// the verdict is OK.
func (d *draft) explainDaemonAffinity(s *compile.Stage) model.Verdict {
	p := d.problem
	for r := range s.Rules {
		g := p.Groups[r.Group]
		certain := slices.ContainsFunc(g.Daemons, func(i int) bool { return p.Daemons[i].Certain })
		met := g.Key == compile.HostKey && s.DaemonAffinity != nil && certain
		if r.Kind == topology.Affinity && len(p.OnNewNodes(g.Daemons)) > 0 && !met {
			return d.topologyVerdict(r.Kind, g)
		}
	}
	return model.Verdict{}
}

// topologyVerdict returns the verdict on a constraint of the given kind. It names the DaemonSets that may run on new nodes
// and whose pods the group counts, if there are any.
func (d *draft) topologyVerdict(kind topology.Kind, g *compile.Group) model.Verdict {
	v := model.Verdict{Rule: model.RuleTopology, Cause: causes[kind], Key: d.problem.Keys[g.Key].Label}
	if names := d.problem.OnNewNodes(g.Daemons); len(names) > 0 {
		v.Subject = daemonSets(names)
	}
	return v
}

// causes are the causes of RuleTopology by the kind of the constraint.
var causes = map[topology.Kind]model.Cause{
	topology.Spread: model.CauseSpread, topology.Affinity: model.CauseAffinity, topology.AntiAffinity: model.CauseAntiAffinity,
}

// explainCharge returns the verdict on a limit that prevents a launch with minValues. For each reservation or commitment,
// and for none, it takes the cheapest instance types that together meet minValues, and the limit that one of them exceeds
// by the largest amount. It returns the first such limit. If there is none, the verdict is OK. on is the part of a Fit for
// the pool.
func (d *draft) explainCharge(pool *catalog.Pool, on catalog.PoolFit, demand *catalog.Demand) (most model.Verdict) {
	on.Types.Each(func(i int) {
		options := pool.Options(on.Set, demand.Amount, pool.Types[i].Reservation).Types
		var exceeded model.Verdict
		for n, t := range options {
			if _, v := d.packed.limits.Allow(t); v.By > exceeded.By {
				exceeded = v
			}
			if _, diverse := on.Set.Diverse(options[:n+1]); diverse {
				most = cmp.Or(most, exceeded)
				return
			}
		}
	})
	return most
}

// daemonSets returns the names of DaemonSets as text for users.
func daemonSets(names []string) string {
	if len(names) == 1 {
		return "DaemonSet " + names[0]
	}
	return "DaemonSets " + strings.Join(names, ", ")
}

// explainRules returns the first topology constraint that may leave no domain for the class: one of its own, or the
// anti-affinity of other pods. It skips spread and anti-affinity over the hostname, because an empty node meets them. The
// verdict is OK if there is none.
func (d *draft) explainRules(c *compile.Class, s *compile.Stage) model.Verdict {
	p := d.problem
	for r := range s.Rules {
		if g := p.Groups[r.Group]; g.Key != compile.HostKey || r.Kind == topology.Affinity {
			return d.topologyVerdict(r.Kind, g)
		}
	}
	limited := func(most int32) bool { return most != compile.NoLimit }
	for _, m := range c.Members {
		if g := p.Groups[m]; g.Key != compile.HostKey && slices.ContainsFunc(d.assigned.Placed.Counts.Of(m).Limit, limited) {
			return model.Verdict{Rule: model.RuleTopology, Cause: model.CauseOthersAffinity, Key: p.Keys[g.Key].Label}
		}
	}
	return model.Verdict{}
}
