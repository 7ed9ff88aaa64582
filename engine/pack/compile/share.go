package compile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// The work of a plan grows with the number of different requirements of pods, and with the number of pods that topology
// terms select. Any user who may create pods determines both. Therefore a plan has a work budget, which namespaces share.
const (
	// maxWork is the work budget of one plan. One unit is about the work of one comparison.
	maxWork = 2_000_000
	// setWork is the work for one ruleSet. termsWork is added for each new combination of node selector, node affinity and
	// tolerations (appendNodeRequirements), because it is compared with every instance type.
	setWork, termsWork = 100, 2_500
	// alwaysTried is the largest number of ruleSets for which work is not limited.
	alwaysTried = 200
	// rotationSeconds is the interval in seconds after which ruleSets of equal cost change their order.
	rotationSeconds = 30
)

// notTried is the verdict on pods for whose ruleSet the work budget of their namespace does not suffice.
var notTried = model.Verdict{Rule: model.RuleEffort}

// A setCost is the work for one ruleSet, in units of maxWork. set is the index of the ruleSet.
type setCost struct {
	set  int
	cost int
}

// shareWork returns for each ruleSet whether the plan tries its pods. Nil means all. read are the terms of all ruleSets.
// samples are the indices of one pod of each class.
//
// Each namespace has the same share of maxWork. What a namespace does not use is left to those with more work. Within a
// namespace, cheap ruleSets are tried first. The order of ruleSets of equal cost changes every rotationSeconds, so that
// later plans try other ones.
func shareWork(c *compiler, sets []ruleSet, read *topology.Book, samples []int) []bool {
	if len(sets) <= alwaysTried {
		return nil
	}
	demands := workByNamespace(c, sets, read, samples)
	total := map[string]int{}
	for name, list := range demands {
		for _, d := range list {
			total[name] += d.cost
		}
	}
	names := slices.SortedFunc(maps.Keys(demands), func(a, b string) int { return cmp.Or(total[a]-total[b], cmp.Compare(a, b)) })
	tried, left := make([]bool, len(sets)), maxWork
	rotation := int(c.Snapshot.Now.Unix() / rotationSeconds)
	for i, name := range names {
		share, list := left/(len(names)-i), demands[name]
		rank := func(d setCost) int { return (d.set + rotation*len(list)/2) % len(sets) }
		slices.SortFunc(list, func(a, b setCost) int { return cmp.Or(a.cost-b.cost, rank(a)-rank(b)) })
		for _, d := range list {
			if d.cost > share {
				break
			}
			tried[d.set] = true
			share, left = share-d.cost, left-d.cost
		}
	}
	return tried
}

// workByNamespace returns, by namespace, the ruleSets whose work is charged to it: to the namespace of ruleSet.first.
func workByNamespace(c *compiler, sets []ruleSet, read *topology.Book, samples []int) map[string][]setCost {
	labels := make([]map[string]string, len(samples))
	for i, pod := range samples {
		labels[i] = c.pods[pod].Object.Labels
	}
	breadths := read.Breadths(labels)
	terms := map[string]bool{}
	out := map[string][]setCost{}
	for n, set := range sets {
		cost := setWork
		for _, r := range set.rules {
			cost += breadths[read.Number(r.Term)]
		}
		if key := string(appendNodeRequirements(nil, &set.first.Object.Spec)); !terms[key] {
			terms[key] = true
			cost += termsWork
		}
		payer := set.first.Object.Namespace
		out[payer] = append(out[payer], setCost{set: n, cost: cost})
	}
	return out
}
