package top

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// Data is what is shown of a cluster at one moment. It is also the JSON output. Prices are in US dollars per hour. Lists
// are never null.
type Data struct {
	Time time.Time `json:"time"`
	// DollarsPerHour is the price of the nodes of NodePools, FloorPerHour a lower bound on the price of any nodes for all
	// pods but the unschedulable ones. Unpriced is the number of nodes whose price is not known.
	DollarsPerHour float64 `json:"dollarsPerHour"`
	FloorPerHour   float64 `json:"floorPerHour"`
	Unpriced       int     `json:"unpriced"`
	// CPU and Memory are the shares of the allocatable amount that pods request, 0 to 1.
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	// RunningPods is the number of pods on nodes.
	RunningPods int                 `json:"runningPods"`
	Nodes       []Node              `json:"nodes"`
	Pools       []Pool              `json:"pools"`
	Pending     []Pending           `json:"pending"`
	Decisions   []decisions.Episode `json:"decisions"`
	// Controller is what is known of the controller, nil if nothing is.
	Controller *offline.Controller `json:"controller,omitempty"`
}

// A Node is a row in the table of nodes.
type Node struct {
	Name         string `json:"name"`
	Pool         string `json:"pool"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// State is launching, joining, ready, disrupting or deleting.
	State string `json:"state"`
	Pods  int    `json:"pods"`
	// CPU and Memory are the shares of the allocatable amount that pods request, 0 to 1.
	CPU            float64 `json:"cpu"`
	Memory         float64 `json:"memory"`
	DollarsPerHour float64 `json:"dollarsPerHour"`
	// Rule is the rule that keeps the node, as in the label rule of the metric
	// karpenter_voluntary_disruption_unrealized_savings_dollars_per_hour. It is empty if the node would be disrupted, or if
	// no NodePool manages it.
	Rule string `json:"rule,omitempty"`
	// Reason is why the node is kept, or what disruption would do with it. Fix is the change that would allow its
	// disruption.
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
	// WastePerHour is the waste of a node that is kept, in dollars per hour.
	WastePerHour float64   `json:"wastePerHour"`
	Created      time.Time `json:"created"`
}

// A Pool is a row in the table of NodePools.
type Pool struct {
	Name           string                `json:"name"`
	Nodes          int                   `json:"nodes"`
	DollarsPerHour float64               `json:"dollarsPerHour"`
	Limits         []offline.LimitResult `json:"limits"`
	// LimitUsed is the largest used share of a limit, 0 without limits.
	LimitUsed float64 `json:"limitUsed"`
	// Problem is why the NodePool launches nothing or disrupts nothing now, Fix the change that helps.
	Problem string `json:"problem,omitempty"`
	Fix     string `json:"fix,omitempty"`
}

// A Pending is a group of pending pods: equal pods without a node, or the pods that are planned onto one node.
type Pending struct {
	// Pod is the first pod of the group, as namespace/name.
	Pod   string `json:"pod"`
	Count int    `json:"count"`
	// Outcome is existing, new or refused. Reason is the node, or why there is none; Fix is the change that helps.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Fix     string `json:"fix,omitempty"`
}

// Of returns the Data of a plan and of the decision of disruption after it.
func Of(run *offline.Run, d *offline.Disruption, episodes []decisions.Episode) Data {
	s := run.Snapshot
	out := Data{
		Time: s.Now.UTC(), DollarsPerHour: d.Before, FloorPerHour: d.Floor, Unpriced: d.Unpriced,
		Nodes: []Node{}, Pools: []Pool{}, Pending: []Pending{}, Decisions: episodes,
	}
	if out.Decisions == nil {
		out.Decisions = []decisions.Episode{}
	}
	fates := fatesOf(d)
	price := map[string]float64{}
	var used, have model.Resources
	for _, n := range s.Nodes() {
		row := nodeOf(s, n, fates[n.Name])
		price[n.Pool] += row.DollarsPerHour
		used, have = used.Plus(n.Used), have.Plus(n.Allocatable)
		out.RunningPods += row.Pods
		out.Nodes = append(out.Nodes, row)
	}
	out.CPU, out.Memory = share(used, have, corev1.ResourceCPU), share(used, have, corev1.ResourceMemory)
	slices.SortStableFunc(out.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	e := explain.New(s, run.Options.Labels)
	for _, p := range s.Pools() {
		out.Pools = append(out.Pools, poolOf(run, e, p, price[p.Name]))
	}
	out.Pending = pendingOf(run, e)
	return out
}

// A fate is what disruption decides about a node. The zero value means that it decides nothing.
type fate struct {
	command *model.Command
	held    string // a text if the enforcement mode withholds command, otherwise empty
	blocked *model.Blocked
}

func fatesOf(d *offline.Disruption) map[string]fate {
	out := map[string]fate{}
	for i := range d.Blocked {
		out[d.Blocked[i].Node.Name] = fate{blocked: &d.Blocked[i]}
	}
	for i := range d.Proposed {
		for _, n := range d.Proposed[i].Nodes {
			out[n.Name] = fate{command: &d.Proposed[i], held: "withheld by the enforcement mode"}
		}
	}
	for i := range d.Commands {
		for _, n := range d.Commands[i].Nodes {
			out[n.Name] = fate{command: &d.Commands[i]}
		}
	}
	return out
}

func nodeOf(s *model.Snapshot, n *model.Node, f fate) Node {
	row := Node{
		Name: n.Name, Pool: n.Pool, InstanceType: n.Labels[corev1.LabelInstanceTypeStable], Zone: n.Labels[corev1.LabelTopologyZone],
		CapacityType: n.Labels[apiv1.CapacityTypeLabelKey], State: stateOf(n), Pods: len(n.Pods),
		CPU: share(n.Used, n.Allocatable, corev1.ResourceCPU), Memory: share(n.Used, n.Allocatable, corev1.ResourceMemory),
		DollarsPerHour: s.PriceOf(n), Created: createdAt(n),
	}
	switch {
	case n.Pool == "":
		row.Reason = "not managed by a NodePool: never disrupted"
	case f.command != nil:
		row.Reason = "would " + f.command.String()
		if f.held != "" {
			row.Reason += "; " + f.held
		}
	case f.blocked != nil:
		v := f.blocked.Verdict
		row.Rule, row.Reason, row.WastePerHour = v.Rule.Word(), v.String(), f.blocked.Waste
		row.Fix = fixOf(v)
	}
	return row
}

func fixOf(v model.Verdict) string {
	if fix, known := explain.Fix(v); known {
		return fix
	}
	return ""
}

func stateOf(n *model.Node) string {
	switch {
	case n.Deleting:
		return "deleting"
	case n.Disrupted():
		return "disrupting"
	case !n.Launched():
		return "launching"
	case n.Managed() && !n.Initialized:
		return "joining"
	}
	return "ready"
}

func createdAt(n *model.Node) time.Time {
	if n.Claim != nil {
		return n.Claim.CreationTimestamp.UTC()
	}
	return n.Object.CreationTimestamp.UTC()
}

// share returns the used share of a resource, 0 if there is none of it.
func share(used, have model.Resources, name corev1.ResourceName) float64 {
	if have[name] <= 0 {
		return 0
	}
	return float64(used[name]) / float64(have[name])
}

func poolOf(run *offline.Run, e *explain.Explainer, p *model.Pool, price float64) Pool {
	a, _ := run.Pool(e, p.Name)
	row := Pool{Name: p.Name, Nodes: a.Nodes, DollarsPerHour: price, Limits: a.Limits, Problem: a.Problem, Fix: a.Fix}
	for _, l := range a.Limits {
		if l.LimitAmount > 0 {
			row.LimitUsed = max(row.LimitUsed, float64(l.UsedAmount)/float64(l.LimitAmount))
		}
	}
	if row.Problem == "" && a.Allowed == 0 {
		row.Problem = "no instance type matches spec.template.spec.requirements: " + a.Impossible
	}
	return row
}

// pendingOf returns the groups of pending pods, refused ones first, then those that get new nodes, then those that fit on
// existing nodes.
func pendingOf(run *offline.Run, e *explain.Explainer) []Pending {
	out := []Pending{}
	for _, r := range run.Plan.Refusals {
		f, others := e.Nearest(r)
		reason := f.Why
		if f.Pool != "" {
			reason = "NodePool \"" + f.Pool + "\": " + f.Why
		}
		if others > 0 {
			reason += "; and " + units.Counted(others, "more NodePool")
		}
		out = append(out, Pending{Pod: r.Pods[0].Key, Count: len(r.Pods), Outcome: offline.Refused, Reason: reason, Fix: f.Fix})
	}
	for i := range run.Plan.Nodes {
		n := &run.Plan.Nodes[i]
		out = append(out, Pending{
			Pod: n.Pods[0].Key, Count: len(n.Pods), Outcome: offline.OnNew,
			Reason: "new node of NodePool " + n.Pool.Name + ": " + n.Options[0].Name + " " + n.Offering.Zone + " " + n.Offering.CapacityType,
		})
	}
	for _, p := range run.Plan.Placements {
		out = append(out, Pending{Pod: p.Pods[0].Key, Count: len(p.Pods), Outcome: offline.OnExisting, Reason: "fits on node " + p.Node.Name})
	}
	return out
}
