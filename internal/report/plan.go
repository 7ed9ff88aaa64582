package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
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

// headline says it all in one line.
func (s Style) headline(p *model.Plan) string {
	launched, placed, refused := 0, 0, 0
	for i := range p.Nodes {
		launched += len(p.Nodes[i].Pods)
	}
	for _, x := range p.Placements {
		placed += len(x.Pods)
	}
	for _, r := range p.Refusals {
		refused += len(r.Pods)
	}
	if launched+placed+refused == 0 {
		return s.bold("no pods are pending: nothing to launch")
	}
	var parts []string
	if placed > 0 {
		parts = append(parts, fmt.Sprintf("%s on nodes that are there", Number(placed)))
	}
	if launched > 0 {
		parts = append(parts, fmt.Sprintf("%s on %s", Number(launched), Count(len(p.Nodes), "new node")))
	}
	if refused > 0 {
		parts = append(parts, s.red(fmt.Sprintf("%s without a place", Number(refused))))
	}
	return s.bold(Count(launched+placed+refused, "pending pod")+": ") + strings.Join(parts, ", ")
}

// A group is nodes of one pool, type, zone and capacity type.
type group struct {
	first           *model.PlannedNode
	nodes, pods     int
	price           float64
	used, allocated model.Resources
}

func (g *group) name() [4]string {
	return [4]string{g.first.Pool.Name, g.first.Options[0].Name, g.first.Offering.Zone, g.first.Offering.CapacityType}
}

// groups puts like nodes together, dearest group first.
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
		g.used, g.allocated = g.used.Plus(n.Requests), g.allocated.Plus(n.Options[0].Allocatable)
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
		row := []string{Number(g.nodes), name[1], name[2], name[3], Number(g.pods), s.resource(g, corev1.ResourceCPU),
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
	t.add(append(append([]string{Number(len(p.Nodes)), "in all", "", "", Number(pods)}, blank...), dollars(p.Price))...)
	t.write(b, "", s.dim)
	b.WriteString("\n" + s.Money(p.Price, p.Floor) + "\n")
}

// Money compares a price with its floor.
func (s Style) Money(price, floor float64) string {
	text := fmt.Sprintf("%s $%s/h, about $%s a month", s.bold("price"), dollars(price), Number(int(price*730+0.5)))
	if floor <= 0 {
		return text
	}
	gap := (price/floor - 1) * 100
	text += fmt.Sprintf("; no choice of nodes goes below $%s/h", dollars(floor))
	if gap < 0.05 {
		return text + ", so this is the best there is"
	}
	return text + fmt.Sprintf(": a gap of %.1f%%", gap)
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

// most is how many lines a list has before it is cut.
const most = 20

// placements writes which nodes that are there take pods.
func (s Style) placements(b *strings.Builder, p *model.Plan) {
	t := &table{right: map[int]bool{1: true}}
	t.add("NODE THAT IS THERE", "PODS", "CPU AFTER", "MEMORY AFTER")
	for _, x := range p.Placements[:min(len(p.Placements), most)] {
		used := x.Node.Used
		for _, pod := range x.Pods {
			used = used.Plus(pod.Requests)
		}
		t.add(x.Node.Name, "+"+Number(len(x.Pods)), s.bar(used[corev1.ResourceCPU], x.Node.Allocatable[corev1.ResourceCPU]),
			s.bar(used[corev1.ResourceMemory], x.Node.Allocatable[corev1.ResourceMemory]))
	}
	t.write(b, "", s.dim)
	if more := len(p.Placements) - most; more > 0 {
		fmt.Fprintf(b, "and %s more nodes\n", Number(more))
	}
}

// refusals writes, a class of pods at a time, why it waits and what would help, nearest miss first.
func (s Style) refusals(b *strings.Builder, p *model.Plan, e *explain.Explainer) {
	n := 0
	for _, r := range p.Refusals {
		n += len(r.Pods)
	}
	b.WriteString(s.bold(s.red(Count(n, "pod")+" without a place")) + "\n")
	for _, r := range p.Refusals[:min(len(p.Refusals), most)] {
		b.WriteString("\n  " + s.bold(Class(r.Pods)) + "\n")
		for _, f := range e.Refusal(r) {
			s.finding(b, f)
		}
	}
	if more := len(p.Refusals) - most; more > 0 {
		fmt.Fprintf(b, "\n  and %s more kinds of pods; -o json has them all\n", Number(more))
	}
}

func (s Style) finding(b *strings.Builder, f explain.Finding) {
	where := ""
	if f.Pool != "" {
		where = "NodePool " + f.Pool + ": "
	}
	b.WriteString("    " + where + f.Why + "\n")
	if f.Fix != "" {
		b.WriteString("      " + s.green("fix: ") + f.Fix + "\n")
	}
}

// Class names equal pods by the first of them and its requests.
func Class(pods []*model.Pod) string {
	first := pods[0]
	var asks []string
	for _, name := range first.Requests.Names() {
		if v := first.Requests[name]; v > 0 && name != corev1.ResourcePods {
			asks = append(asks, model.Amount(name, v)+" "+string(name))
		}
	}
	text := first.Key
	if len(pods) > 1 {
		text = fmt.Sprintf("%s and %s like it", first.Key, Count(len(pods)-1, "pod"))
	}
	if len(asks) == 0 {
		return text + ", asking for nothing"
	}
	return text + ", " + strings.Join(asks, ", ")
}
