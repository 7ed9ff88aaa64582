package pack

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// plan turns what was decided into a Plan.
func (p *problem) plan(existing []*target) *model.Plan {
	plan := &model.Plan{}
	for _, t := range existing {
		if len(t.pods) > 0 {
			sortPods(t.pods)
			plan.Placements = append(plan.Placements, model.Placement{Node: t.node, Pods: t.pods})
		}
	}
	slices.SortStableFunc(plan.Placements, func(a, b model.Placement) int {
		return strings.Compare(a.Node.Name, b.Node.Name)
	})
	given := p.deal()
	slack := p.slack()
	var kept []*opened
	for n, o := range p.nodes {
		node, ok := p.planned(o, given[n], slack[o.shelf])
		if !ok {
			p.giveBack(o, given[n])
			continue
		}
		kept = append(kept, o)
		plan.Nodes = append(plan.Nodes, node)
		plan.Price += node.Price()
	}
	slices.SortStableFunc(plan.Nodes, compareNodes)
	plan.Refusals = p.refuse()
	plan.Floor = p.floor(kept)
	if plan.Floor > plan.Price && plan.Floor < plan.Price*(1+same) {
		plan.Floor = plan.Price // they are equal but for rounding
	}
	return plan
}

func compareNodes(a, b model.PlannedNode) int {
	return cmp.Or(
		cmp.Compare(b.Pool.Weight, a.Pool.Weight),
		strings.Compare(a.Pool.Name, b.Pool.Name),
		strings.Compare(a.Options[0].Name, b.Options[0].Name),
		strings.Compare(a.Pods[0].Key, b.Pods[0].Key),
	)
}

func sortPods(pods []*model.Pod) {
	slices.SortFunc(pods, func(a, b *model.Pod) int { return strings.Compare(a.Key, b.Key) })
}

// deal gives each opened node its pods, in the order in which the nodes were opened. Until here only counts were kept.
func (p *problem) deal() [][]*model.Pod {
	at := make([]int, len(p.classes))
	for i, c := range p.classes {
		at[i] = c.next
	}
	for _, o := range p.nodes {
		for _, part := range o.share {
			at[part.class] -= part.n // back to where the tiers began
		}
	}
	given := make([][]*model.Pod, len(p.nodes))
	for n, o := range p.nodes {
		for _, part := range o.share {
			given[n] = append(given[n], p.classes[part.class].pods[at[part.class]:at[part.class]+part.n]...)
			at[part.class] += part.n
		}
		sortPods(given[n])
	}
	return given
}

// giveBack returns the pods of a node that is not opened after all to their classes, at the end.
func (p *problem) giveBack(o *opened, pods []*model.Pod) {
	gone := map[*model.Pod]bool{}
	for _, pod := range pods {
		gone[pod] = true
	}
	for _, part := range o.share {
		c := p.classes[part.class]
		var moved []*model.Pod
		c.pods = slices.DeleteFunc(c.pods, func(pod *model.Pod) bool {
			if gone[pod] {
				moved = append(moved, pod)
			}
			return gone[pod]
		})
		c.pods = append(c.pods, moved...)
		c.next -= part.n
	}
	o.shelf.pool.debit(o.shelf.pool.shapes[o.shape].typ, -1)
}

// slack returns, for each shelf, what its limits leave over once every node is launched as its cheapest option. Larger
// options are allowed as long as they share in it.
func (p *problem) slack() map[*shelf]model.Resources {
	out := map[*shelf]model.Resources{}
	for _, s := range p.shelves {
		if s.pool.remaining != nil {
			out[s] = s.pool.remaining.Plus(nil)
		}
	}
	return out
}

// planned returns the node to launch for o. It returns false if the pool's minValues cannot be kept.
func (p *problem) planned(o *opened, pods []*model.Pod, slack model.Resources) (model.PlannedNode, bool) {
	sh, f := o.shelf.pool.shapes[o.shape], o.shelf.flavours[o.flavour]
	need := make([]int64, len(p.cols))
	requests := sh.overhead
	for _, part := range o.share {
		subtract(need, p.classes[part.class].need, -part.n)
	}
	for _, pod := range pods {
		requests = requests.Plus(pod.Requests)
	}
	options := p.options(o.shelf, o.flavour, need)
	options = p.withinLimits(options, sh, slack)
	node := model.PlannedNode{Pool: o.shelf.pool.Pool, Requirements: f.reqs, Pods: pods, Requests: requests}
	if _, ok := minValues(f, options); !ok {
		if !p.opts.RelaxMinValues {
			return node, false
		}
		node.MinValuesRelaxed = true
	}
	if len(options) > p.opts.MaxTypes {
		cut := options[:p.opts.MaxTypes]
		if _, ok := minValues(f, cut); ok || p.opts.RelaxMinValues {
			options = cut
		}
	}
	for _, option := range options {
		node.Options = append(node.Options, option.typ)
	}
	node.Offering, _ = options[0].cheapest(f.reqs)
	return node, true
}

// options returns the shapes that hold need under the flavour, cheapest first.
func (p *problem) options(s *shelf, flavour int, need []int64) []*shape {
	f := s.flavours[flavour]
	var at []int
	for j, sh := range s.pool.shapes {
		if _, _, missing := short(need, sh.room); !missing && f.price[j] < inf {
			at = append(at, j)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(f.price[a], f.price[b]) })
	options := make([]*shape, len(at))
	for i, j := range at {
		options[i] = s.pool.shapes[j]
	}
	return options
}

const inf = 1e300

// withinLimits keeps the options that, over what chosen takes, need no more than slack, and takes the largest of them out
// of slack. The chosen shape itself was debited when the node was opened and always stays.
func (p *problem) withinLimits(options []*shape, chosen *shape, slack model.Resources) []*shape {
	if slack == nil {
		return options
	}
	extra := model.Resources{}
	kept := options[:0:0]
	for _, sh := range options {
		more := sh.typ.Capacity.Minus(chosen.typ.Capacity)
		if slices.ContainsFunc(slack.Names(), func(name corev1.ResourceName) bool {
			return more[name] > 0 && more[name] > slack[name]
		}) {
			continue
		}
		kept = append(kept, sh)
		extra = extra.Max(more)
	}
	for name := range slack {
		slack[name] -= max(extra[name], 0)
	}
	return kept
}

// minValues returns the first key for which options bring fewer distinct values than the pool wants, ok=true if none.
func minValues(f *flavour, options []*shape) (key string, ok bool) {
	for r := range f.reqs.All() {
		want := r.MinValues()
		if want == 0 {
			continue
		}
		values := map[string]bool{}
		for _, sh := range options {
			for v := range valuesOf(sh, r.Key()) {
				if r.Has(v) {
					values[v] = true
				}
			}
		}
		if len(values) < want {
			return r.Key(), false
		}
	}
	return "", true
}

// valuesOf returns the values of a label that the shape's type, or one of its offerings, may bring.
func valuesOf(sh *shape, key string) map[string]bool {
	out := map[string]bool{}
	if r, ok := sh.typ.Requirements.Get(key); ok {
		for v := range r.Each() {
			out[v] = true
		}
	}
	if key == apiv1.CapacityTypeLabelKey || key == corev1.LabelTopologyZone {
		clear(out)
		for _, o := range sh.offers {
			if r, ok := o.Requirements.Get(key); ok {
				for v := range r.Each() {
					out[v] = true
				}
			}
		}
	}
	return out
}

// minValuesMiss reports whether one pod with this need finds enough distinct values on the shelf.
func (p *problem) minValuesMiss(s *shelf, flavour int, need []int64) (key string, ok bool) {
	return minValues(s.flavours[flavour], p.options(s, flavour, need))
}
