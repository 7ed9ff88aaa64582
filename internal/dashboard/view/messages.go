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
	// Nodes is the number of all nodes. NodesComing is the number of those of NodePools that are neither initialized nor
	// being deleted.
	Nodes       int `json:"nodes"`
	NodesComing int `json:"nodesComing"`
	PodsPending int `json:"podsPending"`
	PodsBound   int `json:"podsBound"`
	// Coming is the allocatable sum of the nodes in NodesComing. Requested and Allocatable are the sums over the other
	// nodes.
	Requested   Amounts `json:"requested"`
	Allocatable Amounts `json:"allocatable"`
	Coming      Amounts `json:"coming"`
	// DollarsPerHour is the price of the nodes of NodePools. It does not include nodes whose price is not known; Unpriced
	// is the number of those that have an instance. The others cost nothing yet. ListPerHour is the on-demand price of the same nodes.
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

// The states. If several apply, the node has the one that is last in this list.
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
	// ID is unique and never changes. It is the name of the NodeClaim, or of the node if there is no NodeClaim.
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
	// KeptBy is the rule that keeps the node. It is empty if no rule does, or if that is not known.
	KeptBy  string    `json:"keptBy"`
	Created time.Time `json:"created"`
	// Pods has a Block for each pod of the node.
	Pods []Block `json:"pods"`
}

// A Block is a pod of a node as three numbers: its dominant share of the node's allocatable resources, its BlockKind, and
// the index of its owner in the list of owners of the message.
type Block [3]float64

// A BlockKind is how a pod is shown.
type BlockKind uint8

// The kinds of blocks.
const (
	WorkloadPod BlockKind = iota
	DaemonPod
	BlockingPod // the pod blocks disruption of its node
)

// A Fleet has all nodes.
type Fleet struct {
	Nodes []FleetNode `json:"nodes"`
	// Owners are the owners of pods, as namespace/Kind/name.
	Owners []string `json:"owners"`
}

// A NodeDetail has all data about one node.
type NodeDetail struct {
	Node FleetNode `json:"node"`
	// Owners is the list of owners for the blocks of Node.
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

// Chosen explains why a node has its type.
type Chosen struct {
	// Episode is the ID of the decision that launched the node, Decision its sentence. Both are empty if the decision is
	// no longer in the decision log. Options is the number of types from which the launch could choose.
	Episode  string `json:"episode"`
	Decision string `json:"decision"`
	Options  int    `json:"options"`
	// Considered are the cheapest types that the decision could have chosen, at current prices without commitments.
	Considered []Considered `json:"considered"`
}

// A Considered is a type from which the launch of a node could choose.
type Considered struct {
	Type           string   `json:"type"`
	Zone           string   `json:"zone"`
	CapacityType   string   `json:"capacityType"`
	DollarsPerHour *float64 `json:"dollarsPerHour"`
	Reason         string   `json:"reason"`
}

// Stays describes why a node is kept, or the decision to remove it.
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
	// Blocks is the reason why the pod blocks the disruption of its node. It is empty if the pod does not, or if that is
	// not known.
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
	OutcomeExisting = "existing" // the pods fit on an existing node
	OutcomeNew      = "new"      // the pods get a node that is launched
	OutcomeRefused  = "refused"  // no node fits the pods
	OutcomeUnknown  = "unknown"  // no plan has considered the pods yet
)

// A PendingGroup has equal pending pods.
type PendingGroup struct {
	// Pod is the first of the pods, as namespace/name.
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
	// UnderWay are the names of the NodeClaims or nodes on which the pods are placed.
	UnderWay []string `json:"underWay"`
	// Since is when the first of the pods became pending.
	Since time.Time `json:"since"`
}

// A PoolRefusal is the reason why a NodePool launches no node for the pods. Pool is empty if the reason concerns the pods
// themselves.
type PoolRefusal struct {
	Pool   string `json:"pool"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
}

// An Episode is a decision with its effects.
type Episode = decisions.Episode

// A Cost has the cost of nodes over a period.
type Cost struct {
	ledger.Report
	// Blocked has the waste of nodes that are kept, by rule, with the largest waste first.
	Blocked []Blocked `json:"blocked"`
	// Best has the nodes that one change would free, that with the largest waste. It is null if no change is known.
	Best *Blocked `json:"best"`
}

// A Blocked is the sum over nodes that are kept: those of one rule, or those of one cause. DollarsPerHour is an upper bound of
// what they waste. Reason and Fix are those of the node with the largest waste.
type Blocked struct {
	Rule           string  `json:"rule"`
	Nodes          int     `json:"nodes"`
	DollarsPerHour float64 `json:"dollarsPerHour"`
	Reason         string  `json:"reason"`
	Fix            string  `json:"fix"`
	// Causes is the number of different fixes and objects to which they apply.
	Causes int `json:"causes"`
}

// Trends are values at equal intervals. A value is null if it is not known.
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

// The messages of the stream.
type (
	// SnapshotMessage replaces all data of the client.
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
	// FleetMessage adds or replaces some nodes and removes others. Owners is the list of owners for its nodes.
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

// History is the fleet at an earlier moment. Moments are the times of all stored moments.
type History struct {
	At      time.Time   `json:"at"`
	Moments []time.Time `json:"moments"`
	Strip   Strip       `json:"strip"`
	Fleet   Fleet       `json:"fleet"`
}

// An Error is the body of every error response.
type Error struct {
	Error string `json:"error"`
	Fix   string `json:"fix"`
}

// Info has data that do not change while the process runs, except Region: if it is not configured, it is that of the nodes.
// A text that is not known is empty.
type Info struct {
	Cluster string `json:"cluster"`
	Version string `json:"version"`
	DryRun  bool   `json:"dryRun"`
	Region  string `json:"region"`
}
