package compile

import (
	"cmp"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// The work of a plan grows with the number of different requirements of pods, and with the number of pods that their topology
// terms select. Both are up to those who create pods, so the work is counted and shared between namespaces.
const (
	// maxWork bounds the work of one plan.
	maxWork = 2_000_000
	// setWork is that of one set of requirements, termsWork that of one set of node requirements: every instance type is
	// compared with it.
	setWork, termsWork = 100, 2_500
	// alwaysTried is how many sets are tried without counting.
	alwaysTried = 200
	// turnSeconds is how long one order of equal sets lasts.
	turnSeconds = 30
)

// notTried is the verdict on pods whose namespace has used its share.
var notTried = model.Verdict{Rule: model.RuleEffort}

// A demandForWork is a requirement set with what it costs.
type demandForWork struct {
	set  int
	cost int
}

// shareWork returns which requirement sets take part in the plan; nil for all. of is the set of each pod's signature, by pod;
// specs are pods of which each stands for all that terms cannot tell apart.
//
// Each namespace has the same share. What one does not use goes to the others. Within a namespace cheap sets come first, and
// sets of equal cost take turns by the half minute, so that each is tried in some plan.
func shareWork(c *compiler, sets []ruleSet, of func(pod int) int, specs []int) []bool {
	if len(sets) <= alwaysTried {
		return nil
	}
	demands := workByNamespace(c, sets, of, specs)
	names := make([]string, 0, len(demands))
	total := map[string]int{}
	for name, list := range demands {
		names = append(names, name)
		for _, d := range list {
			total[name] += d.cost
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(total[a]-total[b], cmp.Compare(a, b)) })
	tried, left := make([]bool, len(sets)), maxWork
	turn := int(c.Snapshot.Now.Unix() / turnSeconds)
	for i, name := range names {
		share, list := left/(len(names)-i), demands[name]
		rank := func(d demandForWork) int { return (d.set + turn*len(list)/2) % len(sets) }
		slices.SortFunc(list, func(a, b demandForWork) int { return cmp.Or(a.cost-b.cost, rank(a)-rank(b)) })
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

// workByNamespace returns the sets that each namespace pays for. A set of several namespaces is paid for by the one that has
// the fewest.
func workByNamespace(c *compiler, sets []ruleSet, of func(pod int) int, specs []int) map[string][]demandForWork {
	users := make([]map[string]bool, len(sets))
	count := map[string]int{}
	for i, pod := range c.pods {
		n := of(i)
		if users[n] == nil {
			users[n] = map[string]bool{}
		}
		if ns := pod.Object.Namespace; !users[n][ns] {
			users[n][ns] = true
			count[ns]++
		}
	}
	labels := make([]map[string]string, len(specs))
	for i, pod := range specs {
		labels[i] = c.pods[pod].Object.Labels
	}
	breadths := c.terms.book.Breadths(labels)
	terms := map[string]bool{}
	out := map[string][]demandForWork{}
	for n := range sets {
		payer := ""
		for ns := range users[n] {
			if payer == "" || count[ns] < count[payer] || count[ns] == count[payer] && ns < payer {
				payer = ns
			}
		}
		cost := setWork
		for _, r := range sets[n].rules {
			cost += breadths[c.terms.book.Number(r.Term)]
		}
		if key := nodeRequirements(sets[n].first); !terms[key] {
			terms[key] = true
			cost += termsWork
		}
		out[payer] = append(out[payer], demandForWork{set: n, cost: cost})
	}
	return out
}
