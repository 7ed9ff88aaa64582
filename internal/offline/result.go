package offline

import (
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Result is a run as JSON. Lists are never null. Prices are dollars per hour.
type Result struct {
	// Pods is how many pods were looked for a place for, Placed how many found one, Existing how many of those on nodes
	// that are there.
	Pods     int `json:"pods"`
	Placed   int `json:"placed"`
	Existing int `json:"existing"`
	// Nodes are to be launched.
	Nodes []NodeResult `json:"nodes"`
	// Static are to be launched for static NodePools, whatever pods there are.
	Static        []NodeResult    `json:"static,omitempty"`
	Unschedulable []RefusalResult `json:"unschedulable"`
	// Commands are what disruption would do, PodsMoved how many pods that moves, and Blocked the nodes that it leaves alone.
	Commands []CommandResult `json:"commands"`
	// Proposed are what disruption would do if the mode of a pool did not hold it back.
	Proposed  []CommandResult `json:"proposed,omitempty"`
	PodsMoved int             `json:"podsMoved"`
	Blocked   []BlockedResult `json:"blocked"`
	// CostPerHour is the price of Nodes and Static; with disruption, that of all nodes there are after its commands.
	CostPerHour float64 `json:"costPerHour"`
	// FloorPerHour is a price that no nodes for the same pods go below.
	FloorPerHour  float64 `json:"floorPerHour"`
	SolveSeconds  float64 `json:"solveSeconds"`
	VerifySeconds float64 `json:"verifySeconds"`
	// PeakRSSBytes is the most memory that the process had.
	PeakRSSBytes int64 `json:"peakRSSBytes"`
}

// A NodeResult is a node to launch.
type NodeResult struct {
	Pool         string  `json:"pool"`
	InstanceType string  `json:"instanceType"`
	CapacityType string  `json:"capacityType"`
	Zone         string  `json:"zone"`
	PricePerHour float64 `json:"pricePerHour"`
	// Options are all types that could be launched instead, cheapest first.
	Options []string `json:"options"`
	Pods    []string `json:"pods"`
}

// A RefusalResult is a pod that goes nowhere, and why, nearest miss first.
type RefusalResult struct {
	Pod     string   `json:"pod"`
	Reasons []string `json:"reasons"`
}

// A CommandResult is one decision of disruption: delete or replace.
type CommandResult struct {
	Action       string       `json:"action"`
	Nodes        []string     `json:"nodes"`
	With         []NodeResult `json:"with"`
	SavesPerHour float64      `json:"savesPerHour"`
	Reason       string       `json:"reason"`
}

// A BlockedResult is a node that stays, and why.
type BlockedResult struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// Result returns the run as JSON has it. reasons returns the sentences for a refusal, nearest miss first.
func (r *Run) Result(reasons func(model.Refusal) []string) Result {
	out := Result{
		Pods: r.Pending(), Placed: r.Placed(), Existing: r.OnExisting(),
		Nodes: make([]NodeResult, len(r.Plan.Nodes)), Unschedulable: []RefusalResult{},
		Commands: []CommandResult{}, Blocked: []BlockedResult{},
		CostPerHour: r.Plan.Price, FloorPerHour: r.Plan.Floor,
		SolveSeconds: r.Solve.Seconds(), VerifySeconds: r.Verify.Seconds(),
	}
	for i := range r.Plan.Nodes {
		out.Nodes[i] = nodeResult(&r.Plan.Nodes[i])
	}
	for _, x := range r.Plan.Refusals {
		why := reasons(x)
		for _, p := range x.Pods {
			out.Unschedulable = append(out.Unschedulable, RefusalResult{Pod: p.Key, Reasons: why})
		}
	}
	return out
}

// AddStatic adds the nodes of static NodePools and their price.
func (r *Result) AddStatic(nodes []NodeResult) {
	r.Static = nodes
	for _, n := range nodes {
		r.CostPerHour += n.PricePerHour
		r.FloorPerHour += n.PricePerHour
	}
}

func nodeResult(n *model.PlannedNode) NodeResult {
	out := NodeResult{
		Pool: n.Pool.Name, InstanceType: n.Options[0].Name, CapacityType: n.Offering.CapacityType, Zone: n.Offering.Zone,
		PricePerHour: n.Price(), Options: make([]string, len(n.Options)), Pods: make([]string, len(n.Pods)),
	}
	for i, t := range n.Options {
		out.Options[i] = t.Name
	}
	for i, p := range n.Pods {
		out.Pods[i] = p.Key
	}
	return out
}
