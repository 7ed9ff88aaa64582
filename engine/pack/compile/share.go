package compile

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
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
	// portWork is the work for one host port. nodesPerWork is the number of nodes for which the counts of a constraint over the
	// hostname or of a host port are one unit of work.
	portWork, nodesPerWork = 100, 8
	// alwaysTried is the largest number of ruleSets of which only the constraints count as work: their copies and their counts.
	alwaysTried = 200
	// turnSeconds is the length in seconds of a turn of tryWithin.
	turnSeconds = 30
)

// notTried is the verdict on pods for whose ruleSet the work budget of their namespace does not suffice.
var notTried = model.Verdict{Rule: model.RuleEffort}

// A setCost is the work for one ruleSet, in units of maxWork. set is the index of the ruleSet.
type setCost struct {
	set  int
	cost int
}

// shareWork returns for each ruleSet whether the plan tries its pods. Nil means all. setOf has the ruleSet of each pod. read are
// the terms of all ruleSets. samples are the indices of one pod of each class.
//
// Each namespace has the same share of maxWork. What a namespace does not use is left to those with more work. A ruleSet that has
// pods of several namespaces is tried if one of them can pay for it. See tryWithin for the order within a namespace.
func shareWork(c *compiler, sets []ruleSet, setOf []int, read *topology.Book, samples []int) []bool {
	costs := setCosts(c, sets, setOf, read, samples)
	sum := 0
	for _, cost := range costs {
		sum += cost
	}
	if sum <= maxWork {
		return nil
	}
	demands, total := map[string][]setCost{}, map[string]int{}
	seen := map[string]map[int]bool{}
	for i, pod := range c.pods {
		name, set := pod.Object.Namespace, setOf[i]
		if seen[name] == nil {
			seen[name] = map[int]bool{}
		}
		if !seen[name][set] {
			seen[name][set] = true
			demands[name] = append(demands[name], setCost{set: set, cost: costs[set]})
			total[name] += costs[set]
		}
	}
	names := slices.SortedFunc(maps.Keys(demands), func(a, b string) int { return cmp.Or(total[a]-total[b], cmp.Compare(a, b)) })
	tried, left := make([]bool, len(sets)), maxWork
	turn := int(c.Snapshot.Now.Unix() / turnSeconds)
	for i, name := range names {
		left -= tryWithin(demands[name], left/(len(names)-i), turn, tried)
	}
	return tried
}

// tryWithin marks the ruleSets of one namespace that are tried for at most share units of work, and returns the work. It omits
// those that are marked already. Half of the share is for the cheapest. The rest of the share is for the others by turns: each turn
// begins half of this rest later in their order by cost. So each ruleSet that costs no more than that half is tried at some time.
func tryWithin(list []setCost, share, turn int, tried []bool) (spent int) {
	list = slices.DeleteFunc(slices.Clone(list), func(d setCost) bool { return tried[d.set] })
	slices.SortFunc(list, func(a, b setCost) int { return cmp.Or(a.cost-b.cost, a.set-b.set) })
	for len(list) > 0 && spent+list[0].cost <= share/2 {
		tried[list[0].set] = true
		spent += list[0].cost
		list = list[1:]
	}
	rest, total := share-spent, 0
	for _, d := range list {
		total += d.cost
	}
	if total == 0 || rest <= 0 {
		return spent
	}
	begin, first := turn*(rest/2)%total, 0
	for begin >= list[first].cost {
		begin -= list[first].cost
		first++
	}
	for i := range list {
		if d := list[(first+i)%len(list)]; d.cost <= rest {
			tried[d.set] = true
			rest -= d.cost
		}
	}
	return share - rest
}

// setCosts returns the work of each ruleSet, at least 0. Up to alwaysTried ruleSets cost only their constraints.
func setCosts(c *compiler, sets []ruleSet, setOf []int, read *topology.Book, samples []int) []int {
	costs := make([]int, len(sets)) // first the number of classes
	for _, pod := range samples {
		costs[setOf[pod]]++
	}
	nodes := len(c.Snapshot.Nodes())
	for n := range sets {
		ports := len(catalog.PortsOf(&sets[n].first.Object.Spec))
		costs[n] *= sets[n].copies(c, ports)
		costs[n] += ports*portWork + sets[n].countsPerNode(ports)*nodes/nodesPerWork
	}
	if len(sets) <= alwaysTried {
		return costs
	}
	labels := make([]map[string]string, len(samples))
	for i, pod := range samples {
		labels[i] = c.pods[pod].Object.Labels
	}
	breadths := read.Breadths(labels)
	terms := map[string]bool{}
	for n, set := range sets {
		costs[n] += setWork
		for _, r := range set.rules {
			costs[n] += breadths[read.Number(r.Term)]
		}
		if key := string(appendNodeRequirements(nil, &set.first.Object.Spec)); !terms[key] {
			terms[key] = true
			costs[n] += termsWork
		}
	}
	return costs
}

// countsPerNode returns how many constraints of the set, which has this number of host ports, count pods by node.
func (s *ruleSet) countsPerNode(ports int) int {
	for _, r := range s.rules {
		if r.Term.Key == corev1.LabelHostname {
			ports++
		}
	}
	return ports
}

// copies returns how many rules the stages of a class of the set have together, at most. Each host port is a rule.
func (s *ruleSet) copies(c *compiler, ports int) int {
	if len(s.rules)+ports == 0 {
		return 0
	}
	stages := 1
	for _, r := range s.rules {
		if r.Soft {
			stages++
		}
	}
	if !c.Settings.IgnorePreferences {
		stages += len(preferredTerms(&s.first.Object.Spec))
	}
	return (len(s.rules) + ports) * stages
}
