package problem

import (
	"strconv"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/repair"
)

// Options configures a decision. The zero value is valid.
type Options struct {
	// Pack are the options for packing the pods of nodes that are removed.
	Pack pack.Options
	// SpotToSpot allows cheaper spot nodes to replace spot nodes.
	SpotToSpot bool
	// IgnoreDeletionCost excludes controller.kubernetes.io/pod-deletion-cost from eviction costs.
	IgnoreDeletionCost bool
	// Static enables static NodePools, which keep the number of nodes in replicas.
	Static bool
	// TerminateFirst are the reasons for which a node may be terminated before it is replaced, if only its own capacity
	// is left for the replacement.
	TerminateFirst []apiv1.DisruptionReason
	// Repair are the policies of node repair. If they are nil, no node is repaired. LegacyRepair removes unhealthy nodes
	// with force, before they are replaced and without budgets.
	Repair       *repair.Policies
	LegacyRepair bool
	// Mode is the mode of NodePools without an annotation: Auto, DryRun or Approve. Empty means Auto.
	Mode string
	// Paused stops voluntary disruption of all NodePools.
	Paused bool
	// ShiftedZones are zones from which traffic is shifted away. Their nodes are neither disrupted
	// voluntarily nor repaired.
	ShiftedZones []string
	// OldPrices is true until the provider has refreshed its prices. While it is true, only empty nodes are consolidated.
	OldPrices bool
	// Simulate treats all nodes of NodePools as managed, initialized and consolidatable, with or without a claim.
	Simulate bool
	// Backoff are the nodes, by name, whose disruption was rolled back recently, with the time of the next attempt.
	Backoff map[string]time.Time
	// MaxNodes bounds how many nodes one decision disrupts voluntarily. 0 means no bound; a negative number allows
	// none.
	MaxNodes int
	// MaxWhatIfs bounds the what-ifs of one decision: consolidation packs no more once all methods together have packed
	// this number. Unlike a time limit, a count gives the same decision on a slow machine. If the bound is reached, the
	// next decision evaluates the candidates in name order, beginning after Cursor.After of package consolidate. The
	// default is 4,000.
	MaxWhatIfs int
}

const (
	// maxWhatIfs is the default of Options.MaxWhatIfs.
	maxWhatIfs = 4000
	// maxTypes is the default of pack.Options.MaxTypes.
	maxTypes = 600
)

// Defaults of settings that annotations of a NodePool override.
const (
	// movePrice is the price, in dollars, of moving one ordinary pod.
	movePrice = 0.001
	// payback is the longest time over which the saving of a move is compared with its cost.
	payback = 4 * time.Hour
)

// tuning holds the parameters of a NodePool for comparing the saving of a move with its cost.
type tuning struct {
	movePrice float64
	payback   time.Duration
}

// tuningOf reads the annotations of the pool. Values that cannot be parsed, negative costs and periods that are
// not positive are ignored.
func tuningOf(p *model.Pool) tuning {
	t := tuning{movePrice: movePrice, payback: payback}
	if v, err := strconv.ParseFloat(p.Object.Annotations[apiv1.EvictionCostAnnotationKey], 64); err == nil && v >= 0 {
		t.movePrice = v
	}
	if d, err := time.ParseDuration(p.Object.Annotations[apiv1.PaybackPeriodAnnotationKey]); err == nil && d > 0 {
		t.payback = d
	}
	return t
}
