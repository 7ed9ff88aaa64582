package pack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// plan turns what was decided into a Plan.
func (p *problem) plan() *model.Plan {
	plan := &model.Plan{}
	for _, t := range p.targets {
		if len(t.pods) > 0 {
			sortPods(t.pods)
			plan.Placements = append(plan.Placements, model.Placement{Node: t.node, Pods: t.pods})
		}
	}
	slices.SortStableFunc(plan.Placements, func(a, b model.Placement) int {
		return strings.Compare(a.Node.Name, b.Node.Name)
	})
	floored := p.floored()
	kept := p.finish(plan)
	sortNodes(plan.Nodes)
	plan.Refusals = p.refuse()
	if plan.Floor = floored(); len(kept) < len(p.nodes) {
		plan.Floor = p.floor(kept)
	}
	if plan.Floor > plan.Price && plan.Floor < plan.Price*(1+same) {
		plan.Floor = plan.Price // they are equal but for rounding
	}
	return plan
}

// finish adds the nodes that were opened to the plan, and returns those that are to be launched. Who is on them is dealt out
// beside the choice of what they may be launched as.
func (p *problem) finish(plan *model.Plan) (kept []*opened) {
	if len(p.nodes) == 0 {
		return nil
	}
	var given [][]*model.Pod
	var requests []model.Resources
	dealt := aside(func() { given, requests = p.deal() })
	slack := p.slack()
	nodes, launched := make([]model.PlannedNode, len(p.nodes)), make([]bool, len(p.nodes))
	need := make([]int64, len(p.cols))
	for n, o := range p.nodes {
		o.sum(need)
		launched[n] = p.launch(o, need, &nodes[n], slack[o.shelf])
	}
	dealt()
	for n, o := range p.nodes {
		if !launched[n] {
			p.refused = append(p.refused, given[n]...)
			o.shelf.pool.debit(o, -1)
			continue
		}
		node := &nodes[len(kept)]
		*node = nodes[n]
		node.Pods, node.Requests = given[n], requests[n]
		plan.Price += node.Price()
		kept = append(kept, o)
	}
	if len(kept) > 0 {
		plan.Nodes = nodes[:len(kept)]
	}
	return kept
}

// aside works beside the caller, which must wait with the func that is returned before it looks at what came of it. A panic
// becomes the caller's.
func aside(work func()) (wait func()) {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		work()
	}()
	return func() {
		if wrong := <-done; wrong != nil {
			panic(wrong)
		}
	}
}

// sortNodes puts the nodes into the order of the plan.
func sortNodes(nodes []model.PlannedNode) {
	order := make([]int, len(nodes)) // nodes are large, numbers are moved more easily
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(compareNodes(&nodes[a], &nodes[b]), a-b) })
	for i := range order { // here comes the node from order[i], there the one from order[order[i]], and so on around
		first, at := nodes[i], i
		for order[at] != i {
			from := order[at]
			nodes[at], order[at] = nodes[from], at
			at = from
		}
		nodes[at], order[at] = first, at
	}
}

func compareNodes(a, b *model.PlannedNode) int {
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

// deal gives each opened node its pods, in the order in which the nodes were opened, and sums what they and the node's daemons
// ask for. Until here only counts were kept.
func (p *problem) deal() (given [][]*model.Pod, requests []model.Resources) {
	at := make([]int, len(p.lots))
	given, requests = make([][]*model.Pod, len(p.nodes)), make([]model.Resources, len(p.nodes))
	need := make([]int64, len(p.cols))
	for n, o := range p.nodes {
		size := 0
		for _, part := range o.share {
			size += part.n * part.lot.unit
		}
		given[n] = make([]*model.Pod, 0, size)
		for _, part := range o.share {
			l, count := part.lot, part.n*part.lot.unit
			given[n] = append(given[n], l.pods[at[l.index]:at[l.index]+count]...)
			at[l.index] += count
		}
		sortPods(given[n])
		o.sum(need)
		overhead := o.shelf.pool.shapes[o.shape].overhead
		requests[n] = make(model.Resources, len(overhead)+len(p.cols))
		maps.Copy(requests[n], overhead)
		for i, v := range need[:p.plain] {
			if v != 0 {
				requests[n][p.cols[i]] += v
			}
		}
	}
	return given, requests
}

// sum sets need to what the node's pods ask for.
func (o *opened) sum(need []int64) {
	clear(need)
	for _, part := range o.share {
		subtract(need, part.lot.need.amount, -part.n)
	}
}

// ordered returns the pods of the plan as they may be placed one after another: as they were decided, and last those that
// nobody counts.
func (p *problem) ordered(plan *model.Plan) []*model.Pod {
	if len(p.groups) == 0 {
		return nil
	}
	out := make(map[*model.Pod]bool)
	for _, r := range plan.Refusals {
		for _, pod := range r.Pods {
			out[pod] = true
		}
	}
	order := make([]*model.Pod, 0, len(p.order))
	for _, free := range []bool{false, true} {
		for _, st := range p.order {
			if st.free == free && (len(out) == 0 || !out[st.pod]) {
				order = append(order, st.pod)
			}
		}
	}
	return order
}

// slack returns, for each shelf, what its limits leave over once every node has taken its toll. Larger options are allowed as
// long as they share in it.
func (p *problem) slack() map[*shelf]model.Resources {
	out := map[*shelf]model.Resources{}
	for _, s := range p.shelves {
		if s.pool.remaining != nil {
			out[s] = s.pool.remaining.Plus(nil)
		}
	}
	return out
}

// launch sets what the node for o, whose pods ask for need, may be launched as. It returns false if the pool's minValues cannot
// be kept.
func (p *problem) launch(o *opened, need []int64, node *model.PlannedNode, slack model.Resources) bool {
	sh, f := o.shelf.pool.shapes[o.shape], o.flavour
	node.Pool, node.Requirements = o.shelf.pool.Pool, f.reqs
	var bears func(int) bool
	if o.picky() {
		bears = o.bears
	}
	from := o.shelf.options(f, need, o.cargo, sh.reserved, bears)
	options := p.withinLimits(from.shapes, o, slack)
	if _, ok := minValues(f, options); !ok {
		if !p.opts.RelaxMinValues {
			return false
		}
		node.MinValuesRelaxed = true
	}
	if len(options) > p.opts.MaxTypes {
		cut := options[:p.opts.MaxTypes]
		if _, ok := minValues(f, cut); ok || p.opts.RelaxMinValues {
			options = cut
		}
	}
	if slack == nil {
		node.Options = from.types[:len(options):len(options)]
	} else {
		for _, option := range options {
			node.Options = append(node.Options, option.typ)
		}
	}
	node.Offering, _ = options[0].cheapest(f.reqs)
	if sh.reserved != nil {
		if both := f.reqs.And(node.Offering.Requirements.Without(corev1.LabelTopologyZone)); node.Offering.ReservationID != "" {
			node.Requirements = both
		}
	}
	return true
}

// withinLimits keeps the options that, over what the node took out of the limits when it was opened, need no more than slack,
// and takes the largest of them out of slack. So its own shape always stays, and as many others as minValues ask for.
func (p *problem) withinLimits(options []*shape, o *opened, slack model.Resources) []*shape {
	if slack == nil {
		return options
	}
	extra, toll := model.Resources{}, o.takes()
	kept := options[:0:0]
	for _, sh := range options {
		more := sh.typ.Capacity.Minus(toll)
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
	if !f.diverse {
		return "", true
	}
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

// valuesOf returns the values of a label that the shape's type, or one of its offerings, may bring within the pool.
func valuesOf(sh *shape, key string) map[string]bool {
	out := map[string]bool{}
	offered := false
	for _, o := range sh.offers {
		if r, ok := o.Requirements.Get(key); ok {
			offered = true
			for v := range r.Each() {
				out[v] = true
			}
		}
	}
	if offered {
		return out
	}
	if r, ok := sh.reqs.Get(key); ok && r.Operator() == corev1.NodeSelectorOpIn {
		for v := range r.Each() {
			out[v] = true
		}
	}
	return out
}

// enough returns a label of which those shapes of the shelf that hold need and cargo, draw from the reservation, if it is not nil,
// and are within the limits still, bring fewer distinct values than the pool wants; ok=true if there is none.
func (p *problem) enough(s *shelf, f *flavour, need []int64, c cargo, r *reservation) (key string, ok bool) {
	if p.opts.RelaxMinValues || !f.diverse {
		return "", true
	}
	return minValues(f, s.pool.afforded(s.options(f, need, c, r, nil).shapes))
}

// refuse returns the refusals of all pods without a place.
func (p *problem) refuse() []model.Refusal {
	left := map[*class][]*model.Pod{}
	for _, c := range p.classes {
		if c.left() > 0 {
			left[c] = slices.Clone(c.pods[c.next:])
		}
	}
	for _, l := range p.lots {
		if l.next < len(l.pods) {
			left[l.class] = append(left[l.class], l.pods[l.next:]...)
		}
	}
	if len(left)+len(p.refused) == 0 {
		return nil
	}
	gone := map[*model.Pod]bool{}
	for _, pod := range p.refused {
		gone[pod] = true
	}
	var out []model.Refusal
	for _, c := range p.classes {
		pods := left[c]
		if len(gone) > 0 {
			for _, pod := range c.pods {
				if gone[pod] && !slices.Contains(pods, pod) {
					pods = append(pods, pod)
				}
			}
		}
		if len(pods) == 0 {
			continue
		}
		sortPods(pods)
		out = append(out, model.Refusal{Pods: pods, Reasons: p.reasons(c)})
	}
	slices.SortStableFunc(out, func(a, b model.Refusal) int { return strings.Compare(a.Pods[0].Key, b.Pods[0].Key) })
	return out
}

// reasons returns why each pool took no more pods of c.
func (p *problem) reasons(c *class) []model.PoolVerdict {
	switch {
	case c.why != nil:
		return c.why
	case !c.refusal.OK():
		return []model.PoolVerdict{{Verdict: c.refusal}}
	case len(p.shelves) == 0 && len(p.unusable) == 0:
		return []model.PoolVerdict{{Verdict: model.Verdict{Rule: model.RuleNoPool}}}
	}
	var out []model.PoolVerdict
	for k, s := range p.shelves {
		out = append(out, model.PoolVerdict{Pool: s.pool.Name, Verdict: p.explain(c, k)})
	}
	return append(out, p.unusable...)
}

// explainRules returns which rule about other pods has no domain left for c.
func (p *problem) explainRules(c *class, s *stage) model.Verdict {
	for _, rules := range [][]rule{s.wide, s.host} {
		for i := range rules {
			r := &rules[i]
			g := p.groups[r.group]
			if g.key == hostKey && r.kind.String() != "pod affinity" {
				continue
			}
			return model.Verdict{Rule: model.RuleTopology, Subject: r.kind.String() + " over " + p.keys[g.key].label}
		}
	}
	for _, m := range c.members {
		if g := p.groups[m]; g.key != hostKey && g.port == (port{}) && slices.ContainsFunc(g.limit, func(v int32) bool { return v != noLimit }) {
			return model.Verdict{Rule: model.RuleTopology, Subject: "another pod's anti-affinity over " + p.keys[g.key].label}
		}
	}
	return model.Verdict{}
}

var _ = apiv1.CapacityTypeLabelKey
