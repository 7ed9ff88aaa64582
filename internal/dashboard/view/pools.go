package view

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// The maximum numbers of instance types of a NodePool, and of windows of one budget.
const (
	mostTypes   = 100
	mostWindows = 200
	week        = 7 * 24 * time.Hour
)

// PoolsOf returns all NodePools, highest weight first.
func PoolsOf(s *model.Snapshot, prices Prices, labels apiv1.LabelRules) []Pool {
	run := &offline.Run{Snapshot: s, Plan: &model.Plan{}}
	e := explain.New(s, labels)
	nodes := map[string][]*model.Node{}
	for _, n := range s.EachNode() {
		nodes[n.Pool] = append(nodes[n.Pool], n)
	}
	out := []Pool{}
	for _, p := range s.Pools() {
		a, _ := run.Pool(e, p.Name)
		row := Pool{
			Name: p.Name, Weight: p.Weight, Ready: p.Ready().OK(), Problem: a.Problem, Fix: a.Fix, Nodes: len(nodes[p.Name]),
			Limits: limitsOf(a.Limits), Budgets: budgetsOf(p, nodes[p.Name], s.Now), Requirements: []string{},
		}
		if row.Problem == "" && a.Allowed == 0 && a.Offered > 0 {
			row.Problem = "no instance type matches spec.template.spec.requirements: " + a.Impossible
		}
		for r := range p.Requirements.All() {
			if r.Key() != apiv1.NodePoolLabelKey {
				row.Requirements = append(row.Requirements, r.String())
			}
		}
		row.count(nodes[p.Name], prices)
		row.Types, row.TypesTotal = typesOf(p, s.Types(p.Name), nodes[p.Name])
		out = append(out, row)
	}
	return out
}

// count sets the fields that depend on the nodes of the NodePool.
func (p *Pool) count(nodes []*model.Node, prices Prices) {
	sum, priced := 0.0, 0
	for _, n := range nodes {
		if price := prices.Of(n).Own; price != nil {
			sum += *price
			priced++
		} else if n.Launched() {
			p.Unpriced++
		}
		if n.Claim != nil && condition.IsTrue(n.Claim, apiv1.ConditionTypeDrifted) {
			p.Drifted++
		}
		if n.Object != nil && n.Initialized && model.Readiness(n.Object) != corev1.ConditionTrue {
			p.Unhealthy++
		}
	}
	if sum = round(sum); priced > 0 || len(nodes) == 0 {
		p.DollarsPerHour = &sum
	}
}

func limitsOf(limits []offline.LimitResult) []Limit {
	out := []Limit{}
	for _, l := range limits {
		x := Limit{Resource: l.Resource, Used: float64(l.UsedAmount), Limit: float64(l.LimitAmount), Text: l.Used + " of " + l.Limit}
		if l.Resource == string(corev1.ResourceCPU) {
			x.Used, x.Limit = x.Used/1000, x.Limit/1000
		}
		out = append(out, x)
	}
	return out
}

func budgetsOf(p *model.Pool, nodes []*model.Node, now time.Time) []Budget {
	initialized := 0
	for _, n := range nodes {
		if n.Initialized {
			initialized++
		}
	}
	out := []Budget{}
	for _, b := range p.Object.Spec.Disruption.Budgets {
		x := Budget{Nodes: b.Nodes, Reasons: []string{}, Windows: [][2]time.Time{}}
		for _, r := range b.Reasons {
			x.Reasons = append(x.Reasons, string(r))
		}
		if b.Schedule != nil && b.Duration != nil {
			x.Schedule, x.Duration = *b.Schedule, b.Duration.Duration.String()
		}
		if n, active := budget.Allowed(b, initialized, now); active {
			x.Allowed = &n
		}
		x.Windows = append(x.Windows, budget.Windows(b, now, now.Add(week), mostWindows)...)
		out = append(out, x)
	}
	return out
}

// typesOf returns the mostTypes cheapest types that the NodePool may launch, cheapest first, and the number of all of them.
func typesOf(p *model.Pool, types []*model.InstanceType, nodes []*model.Node) ([]TypeRow, int) {
	count := map[string]int{}
	for _, n := range nodes {
		count[n.Labels[corev1.LabelInstanceTypeStable]]++
	}
	out := []TypeRow{}
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
			continue
		}
		a := amountsOf(t.Capacity)
		row := TypeRow{Name: t.Name, CPU: a.CPU, Memory: a.Memory, GPU: a.GPU, Nodes: count[t.Name]}
		capacityTypes, zones := map[string]bool{}, map[string]bool{}
		for _, o := range t.Offerings {
			if _, ok := p.Requirements.Intersects(o.Requirements); ok && o.Launchable() {
				capacityTypes[o.CapacityType], zones[o.Zone] = true, true
			}
		}
		row.CapacityTypes, row.Zones = sortedKeys(capacityTypes), sortedKeys(zones)
		if o, ok := t.Cheapest(p.Requirements); ok {
			row.DollarsPerHour = &o.Price
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(a, b TypeRow) int {
		return cmp.Or(byPrice(a.DollarsPerHour, b.DollarsPerHour), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), mostTypes)], len(out)
}

func sortedKeys(m map[string]bool) []string {
	out := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(out)
	return out
}
