package pack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// maxSolves is how often a problem is solved when limits, minValues or reservations leave out pods that had been given a
// domain: at first with quotas, then without the pods themselves.
const maxSolves = 4

// A quotaKey names what pods of a class were given in one stage: the class by its first pod, the domains by their numbers, and
// which affinity term was preferred.
type quotaKey struct {
	class   string
	stage   int
	turn    int
	domains string
}

// quotas are how many pods of a class got a node where they were meant to go, in an earlier attempt, and so the most that
// are sent there again: the others try their other domains, give up preferences, and find room on nodes there are.
type quotas map[quotaKey]int

func (c *class) quotaKey(s *stage, ch *choice) quotaKey {
	var domains []byte
	for i, d := range ch.domains {
		domains = append(putInt(putInt(domains, int64(ch.keys[i])), int64(d)), putKeys(ch.several(ch.keys[i]))...)
	}
	if ch.escorted {
		domains = append(domains, "escorted"...)
	}
	return quotaKey{class: c.pods[0].Key, stage: s.id, turn: ch.turn, domains: string(domains)}
}

// quota returns how many more pods of c the choice may be given.
func (p *problem) quota(c *class, s *stage, ch *choice) int {
	if len(p.quotas) > 0 {
		if n, ok := p.quotas[c.quotaKey(s, ch)]; ok {
			return max(n, 0)
		}
	}
	return math.MaxInt32
}

// spend takes n out of the quota of the choice, if it has one.
func (p *problem) spend(c *class, s *stage, ch *choice, n int) {
	if len(p.quotas) > 0 {
		if key := c.quotaKey(s, ch); p.quotas[key] > 0 {
			p.quotas[key] -= n
		}
	}
}

// learn sets quotas for what could not be launched, and reports whether that may help: whether a class that goes without
// has another way to go, or others counted on it.
func (p *problem) learn(known quotas) bool {
	if len(p.refused) == 0 && !slices.ContainsFunc(p.lots, func(l *lot) bool { return l.left() > 0 }) {
		return false
	}
	gone := map[*model.Pod]bool{}
	for _, pod := range p.refused {
		gone[pod] = true
	}
	got, short := quotas{}, map[quotaKey]*class{}
	for _, l := range p.lots {
		key := l.class.quotaKey(l.stage, l.choice)
		n := 0
		for i, pod := range l.pods {
			if l.owns(i) && i < l.next && !gone[pod] {
				n++
			}
		}
		got[key] += n
		if l.left() > 0 || slices.ContainsFunc(l.pods, func(pod *model.Pod) bool { return gone[pod] }) {
			short[key] = l.class
		}
	}
	helps := false
	for key, c := range short {
		if n, ok := known[key]; !ok || got[key] < n {
			known[key] = got[key]
			helps = helps || len(c.stages) > 1 || len(c.rules) > 0 || len(c.members) > 0
		}
	}
	return helps
}

// owns reports whether the i-th pod is one of the lot's class, not one that it follows.
func (l *lot) owns(i int) bool { return i%l.unit >= l.led }

// better reports whether a places more pods than b, or as many for less.
func better(a, b *model.Plan) bool {
	if m, n := unplaced(a), unplaced(b); m != n {
		return m < n
	}
	return a.Price < b.Price
}

func unplaced(p *model.Plan) int {
	n := 0
	for _, r := range p.Refusals {
		n += len(r.Pods)
	}
	return n
}
