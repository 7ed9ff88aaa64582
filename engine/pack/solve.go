package pack

import (
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A problem is a Snapshot made ready for packing: numbers instead of names.
type problem struct {
	opts    Options
	cols    columns
	classes []*class
	shelves []*shelf
	// fits is indexed by class and shelf.
	fits [][]fit
	// unusable are the pools that take no part, and why.
	unusable []model.PoolVerdict
	nodes    []*opened
}

// Solve returns where the pending pods of s go, with the pods of nodes that are on their way out.
func Solve(s *model.Snapshot, o Options) *model.Plan {
	o = o.withDefaults()
	pods := append(s.Pending(), s.Displaced()...)
	slices.SortFunc(pods, func(a, b *model.Pod) int { return strings.Compare(a.Key, b.Key) })
	pods = slices.CompactFunc(pods, func(a, b *model.Pod) bool { return a.Key == b.Key })
	if len(pods) == 0 {
		return &model.Plan{}
	}
	p := &problem{opts: o, cols: columnsOf(pods), classes: classify(pods, o)}
	for _, c := range p.classes {
		c.need = p.cols.vector(c.pods[0].Requests)
	}
	existing := targets(s, p.cols, o)
	placeExisting(p.classes, existing, s.Promises)
	if p.anyLeft() {
		p.compile(s)
		p.open()
	}
	return p.plan(existing)
}

func (p *problem) anyLeft() bool {
	return slices.ContainsFunc(p.classes, func(c *class) bool { return c.left() > 0 && c.refusal.OK() })
}

// compile makes the pools ready and judges every class against every pool.
func (p *problem) compile(s *model.Snapshot) {
	var pools []*pool
	pools, p.unusable = compilePools(s, p.cols, p.opts)
	for _, pl := range pools {
		p.shelves = append(p.shelves, newShelf(pl))
	}
	p.fits = make([][]fit, len(p.classes))
	for i, c := range p.classes {
		p.fits[i] = make([]fit, len(p.shelves))
		for k, s := range p.shelves {
			if c.left() > 0 && c.refusal.OK() {
				p.fits[i][k] = s.judge(c, p.cols, p.opts)
			}
		}
	}
}

// open opens nodes, tier by tier: all pools of the highest weight first, and among them by price alone. What their limits
// do not allow goes on to the next weight.
func (p *problem) open() {
	for from := 0; from < len(p.shelves); {
		to := from + 1
		for to < len(p.shelves) && p.shelves[to].pool.Weight == p.shelves[from].pool.Weight {
			to++
		}
		newTier(p, from, to).fill()
		from = to
	}
}

// refuse returns the refusals of all classes with pods left.
func (p *problem) refuse() []model.Refusal {
	var out []model.Refusal
	for i, c := range p.classes {
		if c.left() == 0 {
			continue
		}
		r := model.Refusal{Pods: slices.Clone(c.pods[c.next:])}
		switch {
		case !c.refusal.OK():
			r.Reasons = []model.PoolVerdict{{Verdict: c.refusal}}
		case len(p.shelves) == 0 && len(p.unusable) == 0:
			r.Reasons = []model.PoolVerdict{{Verdict: model.Verdict{Rule: model.RuleNoPool}}}
		default:
			for k, s := range p.shelves {
				r.Reasons = append(r.Reasons, model.PoolVerdict{Pool: s.pool.Name, Verdict: p.verdict(i, k)})
			}
			r.Reasons = append(r.Reasons, p.unusable...)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b model.Refusal) int { return strings.Compare(a.Pods[0].Key, b.Pods[0].Key) })
	return out
}

// verdict returns why shelf k took no more pods of class i.
func (p *problem) verdict(i, k int) model.Verdict {
	f, pl := p.fits[i][k], p.shelves[k].pool
	if !f.verdict.OK() {
		return f.verdict
	}
	var nearest model.Verdict
	for j, sh := range pl.shapes {
		if !f.holds[j] {
			continue
		}
		n, v := pl.affords(sh.typ)
		if n > 0 {
			if key, ok := p.minValuesMiss(p.shelves[k], f.flavour, p.classes[i].need); !ok {
				return model.Verdict{Rule: model.RuleMinValues, Subject: key}
			}
			return model.Verdict{Rule: model.RuleEffort}
		}
		if nearest.OK() || (v.Resource == nearest.Resource && v.By < nearest.By) {
			nearest = v
		}
	}
	return nearest
}
