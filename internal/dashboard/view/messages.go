package view

import (
	"time"

	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

// Amounts are amounts of resources: cpu in cores, memory in bytes, gpu in devices.
type Amounts struct {
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
	GPU    int64   `json:"gpu"`
}

func (a *Amounts) add(b Amounts) {
	a.CPU += b.CPU
	a.Memory += b.Memory
	a.GPU += b.GPU
}

// A Strip is the summary of the fleet.
type Strip struct {
	// Nodes is the number of all nodes, NodesComing of those among them that are not initialized.
	Nodes       int `json:"nodes"`
	NodesComing int `json:"nodesComing"`
	PodsPending int `json:"podsPending"`
	PodsBound   int `json:"podsBound"`
	// Requested and Allocatable are those of nodes that are initialized, Coming is the allocatable amount of the others.
	Requested   Amounts `json:"requested"`
	Allocatable Amounts `json:"allocatable"`
	Coming      Amounts `json:"coming"`
	// DollarsPerHour is the price of the nodes of NodePools. Nodes without a known price are not in it: Unpriced is their
	// number. ListPerHour is the price of the same nodes if all were on demand.
	DollarsPerHour *float64 `json:"dollarsPerHour"`
	ListPerHour    *float64 `json:"listPerHour"`
	FloorPerHour   *float64 `json:"floorPerHour"`
	Unpriced       int      `json:"unpriced"`
	// SpotShare is the share of spot nodes in DollarsPerHour, 0 to 1.
	SpotShare    *float64   `json:"spotShare"`
	LastDecision *time.Time `json:"lastDecision"`
	// Leader is false if another replica decides. LeaderName is then the name of its pod, empty if it is not known.
	Leader     bool   `json:"leader"`
	LeaderName string `json:"leaderName"`
}

// A NodeState is the state of a node.
type NodeState string

// The states. The first that applies is shown, from the last to the first.
const (
	Initialized NodeState = "initialized"
	Drifted     NodeState = "drifted"
	Registered  NodeState = "registered"
	Launching   NodeState = "launching"
	Disrupting  NodeState = "disrupting"
	Draining    NodeState = "draining"
	Unmanaged   NodeState = "unmanaged"
)

// A FleetNode is a node of the fleet.
type FleetNode struct {
	// ID is unique and does not change: the name of the NodeClaim, or of the node without one.
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Pool         string    `json:"pool"`
	Zone         string    `json:"zone"`
	Type         string    `json:"type"`
	CapacityType string    `json:"capacityType"`
	Arch         string    `json:"arch"`
	State        NodeState `json:"state"`
	Allocatable  Amounts   `json:"allocatable"`
	Requested    Amounts   `json:"requested"`

	DollarsPerHour *float64 `json:"dollarsPerHour"`
	// KeptBy is the rule that keeps the node, empty if none does or if that is not known.
	KeptBy  string    `json:"keptBy"`
	Created time.Time `json:"created"`
	// Pods are the pods of the node, see Tile.
	Pods []Block `json:"pods"`
}

// A Block is a pod of a node: its dominant share of the allocatable amounts, its BlockKind, and the index of its owner in
// the list of owners of the message.
type Block [3]float64

// A BlockKind is how a pod is shown.
type BlockKind uint8

// The kinds of blocks.
const (
	WorkloadPod BlockKind = iota
	DaemonPod
	BlockingPod // the pod blocks disruption of its node
)

// A Fleet is all nodes.
type Fleet struct {
	Nodes []FleetNode `json:"nodes"`
	// Owners are the owners of pods, as namespace/Kind/name.
	Owners []string `json:"owners"`
}

// A NodeDetail is everything that is known of one node.
type NodeDetail struct {
	Node FleetNode `json:"node"`
	// Owners is the list that the blocks of Node refer to.
	Owners     []string          `json:"owners"`
	Claim      string            `json:"claim"`
	Conditions []Condition       `json:"conditions"`
	Chosen     Chosen            `json:"chosen"`
	Stays      Stays             `json:"stays"`
	Pods       []PodRow          `json:"pods"`
	Cost       []CauseCost       `json:"cost"`
	Labels     map[string]string `json:"labels"`
	Taints     []string          `json:"taints"`
}

// A Condition is a condition of a node or of its NodeClaim.
type Condition struct {
	// Of is NodeClaim or Node.
	Of      string    `json:"of"`
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

// Chosen is why a node has its type.
type Chosen struct {
	// Episode is the ID of the decision that launched the node, Decision its sentence. Both are empty if the decision log
	// does not have it any more. Options is how many types the launch could choose from.
	Episode  string `json:"episode"`
	Decision string `json:"decision"`
	Options  int    `json:"options"`
	// Considered are the cheapest of these types, at the prices of now.
	Considered []Considered `json:"considered"`
}

// A Considered is a type that the launch of a node could choose.
type Considered struct {
	Type           string   `json:"type"`
	Zone           string   `json:"zone"`
	CapacityType   string   `json:"capacityType"`
	DollarsPerHour *float64 `json:"dollarsPerHour"`
	Reason         string   `json:"reason"`
}

// Stays is why a node is kept, or what will be done with it.
type Stays struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
	// WastePerHour is the price of the node less a lower bound of the price of capacity for its pods.
	WastePerHour *float64 `json:"wastePerHour"`
}

// A PodRow is a pod of a node.
type PodRow struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Owner     string `json:"owner"`
	Daemon    bool   `json:"daemon"`
	// Blocks is why the pod blocks disruption of its node, empty if it does not or if that is not known.
	Blocks    string  `json:"blocks"`
	Requested Amounts `json:"requested"`
	// DollarsPerHour is the pod's share of the price of the node.
	DollarsPerHour *float64 `json:"dollarsPerHour"`
}

// A CauseCost is the part of a node's price that has one cause: workloads, a cause of idle capacity, or a cause of overhead.
type CauseCost struct {
	Cause          string  `json:"cause"`
	DollarsPerHour float64 `json:"dollarsPerHour"`
}

// Outcomes of a PendingGroup.
const (
	OutcomeExisting = "existing" // the pods go to a node that is there
	OutcomeNew      = "new"      // the pods go to a node that is launched
	OutcomeRefused  = "refused"  // no node is found
	OutcomeUnknown  = "unknown"  // no plan has the pods yet
)

// A PendingGroup is a group of equal pending pods.
type PendingGroup struct {
	// Pod is the first one, as namespace/name.
	Pod       string  `json:"pod"`
	Owner     string  `json:"owner"`
	Count     int     `json:"count"`
	Requested Amounts `json:"requested"`
	// Devices are the devices that the ResourceClaims of one pod request.
	Devices []DeviceRequest `json:"devices"`
	Outcome string          `json:"outcome"`
	Reason  string          `json:"reason"`
	Fix     string          `json:"fix"`
	// Pools has the first rule that refuses the pods, by NodePool.
	Pools []PoolRefusal `json:"pools"`
	// UnderWay are the names of the NodeClaims or nodes for the pods.
	UnderWay []string `json:"underWay"`
	// Since is when the first of the pods became pending.
	Since time.Time `json:"since"`
}

// A PoolRefusal is why a NodePool launches no node for pods. Pool is empty if the reason is about the pods themselves.
type PoolRefusal struct {
	Pool   string `json:"pool"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
}

// An Episode is a decision with its effects.
type Episode = decisions.Episode

// A Cost is what nodes cost over a time.
type Cost struct {
	ledger.Report
	// Blocked has the nodes that are kept, by rule, the most waste first.
	Blocked []Blocked `json:"blocked"`
}

// A Blocked is the sum of the nodes that one rule keeps. Reason and Fix are those of the node with the largest waste.
type Blocked struct {
	Rule           string  `json:"rule"`
	Nodes          int     `json:"nodes"`
	DollarsPerHour float64 `json:"dollarsPerHour"`
	Reason         string  `json:"reason"`
	Fix            string  `json:"fix"`
}

// Trends are values at equal steps of time; null where nothing is known.
type Trends struct {
	// Time is in Unix seconds.
	Time           []int64    `json:"time"`
	DollarsPerHour []*float64 `json:"dollarsPerHour"`
	FloorPerHour   []*float64 `json:"floorPerHour"`
	Nodes          []*float64 `json:"nodes"`
	Pending        []*float64 `json:"pending"`
	// CPU and Memory are the requested shares of the allocatable amounts, 0 to 1.
	CPU    []*float64 `json:"cpu"`
	Memory []*float64 `json:"memory"`
}

// Messages of the stream, by type.
type (
	// SnapshotMessage replaces everything that the reader has.
	SnapshotMessage struct {
		Type    string `json:"type"` // snapshot
		Version uint64 `json:"version"`
		Strip   Strip  `json:"strip"`
		Fleet   Fleet  `json:"fleet"`
	}
	// StripMessage replaces the strip.
	StripMessage struct {
		Type    string `json:"type"` // strip
		Version uint64 `json:"version"`
		Strip   Strip  `json:"strip"`
	}
	// FleetMessage replaces single nodes and removes others. Owners is the list that its nodes refer to.
	FleetMessage struct {
		Type    string      `json:"type"` // fleet
		Version uint64      `json:"version"`
		Owners  []string    `json:"owners"`
		Nodes   []FleetNode `json:"nodes"`
		Gone    []string    `json:"gone"`
	}
	// PendingMessage replaces the groups of pending pods.
	PendingMessage struct {
		Type    string         `json:"type"` // pending
		Version uint64         `json:"version"`
		Groups  []PendingGroup `json:"groups"`
	}
	// EpisodeMessage adds or replaces an episode.
	EpisodeMessage struct {
		Type    string  `json:"type"` // episode
		Version uint64  `json:"version"`
		Episode Episode `json:"episode"`
	}
)

// History is the fleet at an earlier moment. Moments are those that are kept.
type History struct {
	At      time.Time   `json:"at"`
	Moments []time.Time `json:"moments"`
	Strip   Strip       `json:"strip"`
	Fleet   Fleet       `json:"fleet"`
}

// An Error is the body of every answer that is no success.
type Error struct {
	Error string `json:"error"`
	Fix   string `json:"fix"`
}

// Info is what does not change while the process runs. Texts that are not known are empty.
type Info struct {
	Cluster string `json:"cluster"`
	Version string `json:"version"`
	DryRun  bool   `json:"dryRun"`
	Region  string `json:"region"`
}
