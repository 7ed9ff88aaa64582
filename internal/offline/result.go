package offline

import (
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Result is the JSON output of a Run. Lists are never null. Prices are in dollars per hour.
type Result struct {
	// Pods is how many pods were planned, Placed how many of them get a node, and Existing how many of those are placed
	// on existing nodes.
	Pods     int `json:"pods"`
	Placed   int `json:"placed"`
	Existing int `json:"existing"`
	// Nodes are the nodes to launch for pods.
	Nodes []NodeResult `json:"nodes"`
	// Static are the nodes to launch for static NodePools, regardless of pods.
	Static        []NodeResult    `json:"static,omitempty"`
	Unschedulable []RefusalResult `json:"unschedulable"`
	// Commands are the commands of disruption. PodsMoved is how many pods they move. Blocked are the nodes that are not
	// disrupted.
	Commands []CommandResult `json:"commands"`
	// Proposed are commands that the enforcement mode of a NodePool prevents.
	Proposed  []CommandResult `json:"proposed,omitempty"`
	PodsMoved int             `json:"podsMoved"`
	Blocked   []BlockedResult `json:"blocked"`
	// CostPerHour is the price of Nodes and Static. With disruption, it is the price of all nodes of NodePools after its
	// commands and the launches.
	CostPerHour float64 `json:"costPerHour"`
	// FloorPerHour is a lower bound on the price of any nodes for the same pods.
	FloorPerHour  float64 `json:"floorPerHour"`
	SolveSeconds  float64 `json:"solveSeconds"`
	VerifySeconds float64 `json:"verifySeconds"`
	// PeakRSSBytes is the peak resident memory of the process.
	PeakRSSBytes int64 `json:"peakRSSBytes"`
	// Controller is what is known of the controller, nil if nothing is.
	Controller *Controller `json:"controller,omitempty"`
}

// A NodeResult is a node to launch.
type NodeResult struct {
	Pool         string `json:"pool"`
	InstanceType string `json:"instanceType"`
	CapacityType string `json:"capacityType"`
	// Commitment is the commitment of the price book that covers the node, empty for none.
	Commitment   string  `json:"commitment,omitempty"`
	Zone         string  `json:"zone"`
	PricePerHour float64 `json:"pricePerHour"`
	// Options are the types with which the node can be launched, cheapest first. The first is InstanceType. A node of a
	// static NodePool may have only this one, although others are possible.
	Options []string `json:"options"`
	Pods    []string `json:"pods"`
}

// A RefusalResult is a pod that gets no node, with the reasons, fewest obstacles first.
type RefusalResult struct {
	Pod     string   `json:"pod"`
	Reasons []string `json:"reasons"`
}

// A CommandResult is one decision of disruption. Action is the result of model.Command.Decision.
type CommandResult struct {
	Action       string       `json:"action"`
	Nodes        []string     `json:"nodes"`
	With         []NodeResult `json:"with"`
	SavesPerHour float64      `json:"savesPerHour"`
	Reason       string       `json:"reason"`
}

// A BlockedResult is a node that is not disrupted, with the reason.
type BlockedResult struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// Result converts the run to a Result. reasons returns the sentences for a refusal, fewest obstacles first.
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

// AddStatic adds the nodes of static NodePools, and their price to the cost and to the floor.
func (r *Result) AddStatic(nodes []NodeResult) {
	r.Static = nodes
	for _, n := range nodes {
		r.CostPerHour += n.PricePerHour
		r.FloorPerHour += n.PricePerHour
	}
}

func nodeResult(n *model.PlannedNode) NodeResult {
	out := NodeResult{
		Pool: n.Pool.Name, InstanceType: n.Options[0].Name, CapacityType: n.Offering.CapacityType, Commitment: n.Offering.Commitment, Zone: n.Offering.Zone,
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
