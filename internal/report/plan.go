package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// Plan renders a plan: the nodes to launch, their cost, and the pods that cannot be scheduled.
func (s Style) Plan(p *model.Plan, e *explain.Explainer) string {
	var b strings.Builder
	b.WriteString(s.headline(p) + "\n")
	if len(p.Nodes) > 0 {
		b.WriteString("\n")
		s.nodes(&b, p)
	}
	if len(p.Placements) > 0 {
		b.WriteString("\n")
		s.placements(&b, p)
	}
	if len(p.Refusals) > 0 {
		b.WriteString("\n")
		s.refusals(&b, p, e)
	}
	return b.String()
}

// headline returns a summary of the plan in one line.
func (s Style) headline(p *model.Plan) string {
	launched, placed, refused, gated := 0, 0, 0, 0
	for i := range p.Nodes {
		launched += len(p.Nodes[i].Pods)
	}
	for _, x := range p.Placements {
		placed += len(x.Pods)
	}
	for _, r := range p.Refusals {
		if isGated(r) {
			gated += len(r.Pods)
			continue
		}
		refused += len(r.Pods)
	}
	if launched+placed+refused+gated == 0 {
		return s.bold("no pods are pending: nothing to launch")
	}
	var parts []string
	if placed > 0 {
		parts = append(parts, fmt.Sprintf("%s on existing nodes", units.Grouped(placed)))
	}
	if launched > 0 {
		parts = append(parts, fmt.Sprintf("%s on %s", units.Grouped(launched), units.Counted(len(p.Nodes), "new node")))
	}
	if refused > 0 {
		parts = append(parts, s.red(fmt.Sprintf("%s unschedulable", units.Grouped(refused))))
	}
	if gated > 0 {
		parts = append(parts, fmt.Sprintf("%s not planned (scheduling gates)", units.Grouped(gated)))
	}
	return s.bold(units.Counted(launched+placed+refused+gated, "pending pod")+": ") + strings.Join(parts, ", ")
}

// isGated reports whether the pods are not planned because of a scheduling gate.
func isGated(r model.Refusal) bool { return r.Reasons[0].Verdict.Cause == model.CauseGate }

// A group has the nodes of one pool, type, zone, capacity type and commitment.
type group struct {
	first           *model.PlannedNode
	nodes, pods     int
	price           float64
	used, allocated model.Resources
}

func (g *group) name() [4]string {
	capacity := g.first.Offering.CapacityType
	if id := g.first.Offering.Commitment; id != "" {
		capacity += " by " + id
	}
	return [4]string{g.first.Pool.Name, g.first.Options[0].Name, g.first.Offering.Zone, capacity}
}

// groups returns the nodes in groups, the most expensive group first.
func groups(nodes []model.PlannedNode) []*group {
	byName := map[[4]string]*group{}
	var out []*group
	for i := range nodes {
		n := &nodes[i]
		g := &group{first: n}
		if have := byName[g.name()]; have != nil {
			g = have
		} else {
			byName[g.name()] = g
			out = append(out, g)
		}
		g.nodes++
		g.pods += len(n.Pods)
		g.price += n.Price()
		g.used, g.allocated = g.used.Plus(n.Used), g.allocated.Plus(n.Options[0].Allocatable)
	}
	slices.SortStableFunc(out, func(a, b *group) int {
		an, bn := a.name(), b.name()
		return cmp.Or(cmp.Compare(b.price, a.price), slices.Compare(an[:], bn[:]))
	})
	return out
}

// nodes writes the table of nodes to launch, and the sum below it.
func (s Style) nodes(b *strings.Builder, p *model.Plan) {
	all := groups(p.Nodes)
	pools := map[string]bool{}
	for _, g := range all {
		pools[g.first.Pool.Name] = true
	}
	gpus := slices.ContainsFunc(all, func(g *group) bool { return len(devices(g)) > 0 })
	t := &table{right: map[int]bool{}}
	head := []string{"NODES", "TYPE", "ZONE", "CAPACITY", "PODS", "CPU", "MEMORY"}
	t.right[0], t.right[4] = true, true
	if gpus {
		head = append(head, "DEVICES")
	}
	if len(pools) > 1 {
		head = append(head, "POOL")
	}
	t.right[len(head)] = true
	t.add(append(head, "$/H")...)
	pods := 0
	for _, g := range all {
		name := g.name()
		row := []string{units.Grouped(g.nodes), name[1], name[2], name[3], units.Grouped(g.pods), s.resource(g, corev1.ResourceCPU),
			s.resource(g, corev1.ResourceMemory)}
		if gpus {
			row = append(row, strings.Join(devices(g), ", "))
		}
		if len(pools) > 1 {
			row = append(row, name[0])
		}
		t.add(append(row, dollars(g.price))...)
		pods += g.pods
	}
	blank := make([]string, len(head)-5)
	t.add(append(append([]string{units.Grouped(len(p.Nodes)), "total", "", "", units.Grouped(pods)}, blank...), dollars(p.Price))...)
	t.write(b, "", s.dim)
	b.WriteString("\n" + s.Money(p.Price, p.Floor) + "\n")
}

// Money returns a line with a price and, if floor is positive, how far the price is above this lower bound.
func (s Style) Money(price, floor float64) string {
	text := fmt.Sprintf("%s $%s/h, about $%s a month", s.bold("price"), dollars(price), wholeDollars(price*730))
	if floor <= 0 {
		return text
	}
	gap := (price/floor - 1) * 100
	if gap < 0.05 {
		return text + "; optimal (within 0.05%)"
	}
	return text + fmt.Sprintf("; lower bound $%s/h, at most %.1f%% above the optimum", dollars(floor), gap)
}

func (s Style) resource(g *group, name corev1.ResourceName) string {
	return s.bar(g.used[name], g.allocated[name])
}

// devices lists the extended resources in use.
func devices(g *group) []string {
	var out []string
	for _, name := range g.used.Names() {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage, model.Nodes:
		default:
			if g.used[name] > 0 {
				out = append(out, fmt.Sprintf("%d of %d %s", g.used[name], g.allocated[name], name))
			}
		}
	}
	return out
}

// most is the largest number of lines of a list.
const most = 20

// placements writes which existing nodes get pods.
func (s Style) placements(b *strings.Builder, p *model.Plan) {
	t := &table{right: map[int]bool{1: true}}
	t.add("EXISTING NODE", "PODS", "CPU AFTER", "MEMORY AFTER")
	for _, x := range p.Placements[:min(len(p.Placements), most)] {
		used := x.Node.Used
		for _, pod := range x.Pods {
			used = used.Plus(pod.Requests)
		}
		t.add(x.Node.Name, "+"+units.Grouped(len(x.Pods)), s.bar(used[corev1.ResourceCPU], x.Node.Allocatable[corev1.ResourceCPU]),
			s.bar(used[corev1.ResourceMemory], x.Node.Allocatable[corev1.ResourceMemory]))
	}
	t.write(b, "", s.dim)
	if more := len(p.Placements) - most; more > 0 {
		fmt.Fprintf(b, "and %s more nodes\n", units.Grouped(more))
	}
}

// refusals writes, for each group of equal pods, why they get no node and what would help, nearest NodePool first.
func (s Style) refusals(b *strings.Builder, p *model.Plan, e *explain.Explainer) {
	var gated, refused []model.Refusal
	for _, r := range p.Refusals {
		if isGated(r) {
			gated = append(gated, r)
		} else {
			refused = append(refused, r)
		}
	}
	s.refused(b, refused, s.red("unschedulable"), e)
	if len(gated) > 0 && len(refused) > 0 {
		b.WriteString("\n")
	}
	s.refused(b, gated, "not planned", e)
}

// refused writes a headline with the number of pods and the text what, and below it the refusals.
func (s Style) refused(b *strings.Builder, list []model.Refusal, what string, e *explain.Explainer) {
	if len(list) == 0 {
		return
	}
	n := 0
	for _, r := range list {
		n += len(r.Pods)
	}
	b.WriteString(s.bold(units.Counted(n, "pod")+" "+what) + "\n")
	for _, r := range list[:min(len(list), most)] {
		b.WriteString("\n  " + s.bold(Class(r.Pods)) + "\n")
		for _, f := range e.Refusal(r) {
			s.finding(b, f)
		}
	}
	if more := len(list) - most; more > 0 {
		fmt.Fprintf(b, "\n  and %s more groups of equal pods; -o json lists all\n", units.Grouped(more))
	}
}

func (s Style) finding(b *strings.Builder, f explain.Finding) {
	for i, o := range f.Obstacles {
		where := ""
		switch {
		case f.Pool != "" && i > 0:
			where = "NodePool " + f.Pool + ", also: "
		case f.Pool != "":
			where = "NodePool " + f.Pool + ": "
		case i > 0:
			where = "also: "
		}
		b.WriteString("    " + where + o.Why + "\n")
		if o.Fix != "" {
			s.advice(b, "      ", "fix", o.Fix)
		} else {
			s.advice(b, "      ", "no fix", o.NoFix)
		}
	}
}

// advice writes a line "fix: …" or "no fix: …".
func (s Style) advice(b *strings.Builder, indent, what, text string) {
	b.WriteString(indent + s.green(what+": ") + text + "\n")
}

// Class describes equal pods: the name of the first one and its requests.
func Class(pods []*model.Pod) string {
	first := pods[0]
	var requests []string
	for _, name := range first.Requests.Names() {
		if v := first.Requests[name]; v > 0 && name != corev1.ResourcePods {
			requests = append(requests, units.Measure(name, v, units.Nearest))
		}
	}
	text := first.Key
	if len(pods) > 1 {
		text = fmt.Sprintf("%s and %s like it", first.Key, units.Counted(len(pods)-1, "pod"))
	}
	if len(requests) == 0 {
		return text + " (no requests)"
	}
	return text + " (" + strings.Join(requests, ", ") + ")"
}
