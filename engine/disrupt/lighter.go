package disrupt

import "slices"

// lighter leaves out of a proposal that pays the nodes that add nothing to that: what others save would pay for moving their
// pods. Those of stay are open to pods already.
func (d *decider) lighter(p *proposal, stay []*candidate) *proposal {
	idle := d.unpaid(p)
	if len(idle) == 0 || len(idle) == len(p.set) || d.spent() {
		return p
	}
	view := d.view
	if len(d.shut) > 0 {
		view = d.viewOf(except(d.shut, slices.Concat(stay, idle)))
	}
	q := d.whatIf(view, except(p.set, idle))
	if d.judge(q); q.verdict.OK() && q.pays.net() > p.pays.net() {
		return q
	}
	return p
}

// unpaid returns the nodes of a proposal that pays which would not pay by themselves: those that share new nodes with each
// other, and with no other node of the set.
func (d *decider) unpaid(p *proposal) []*candidate {
	if !p.verdict.OK() || len(p.set) < 2 {
		return nil
	}
	owner, group := map[string]int{}, make([]int, len(p.set)) // groups are named by one of their members
	for i, c := range p.set {
		group[i] = i
		for _, pod := range c.pods {
			owner[pod.Key] = i
		}
	}
	for i := range p.plan.Nodes {
		first := -1
		for _, pod := range p.plan.Nodes[i].Pods {
			switch at, ok := owner[pod.Key]; {
			case !ok:
				return nil // a pod of nobody's: what the node is for cannot be told
			case first < 0:
				first = group[at]
			case group[at] != first:
				for was, k := group[at], 0; k < len(group); k++ {
					if group[k] == was {
						group[k] = first
					}
				}
			}
		}
	}
	costs := make([]float64, len(p.set))
	for i := range p.plan.Nodes {
		n := &p.plan.Nodes[i]
		costs[group[owner[n.Pods[0].Key]]] += n.Price()
	}
	var idle []*candidate
	for g := range p.set {
		var members []*candidate
		for i, c := range p.set {
			if group[i] == g {
				members = append(members, c)
			}
		}
		if len(members) > 0 && d.weigh(members, sum(members, price)-costs[g], costs[g]).net() <= 0 {
			idle = append(idle, members...)
		}
	}
	return idle
}
