package problem

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// Options tunes a decision. The zero value works.
type Options struct {
	// Pack is how the pods of nodes that go are packed.
	Pack pack.Options
	// SpotToSpot lets spot nodes be replaced by cheaper spot nodes.
	SpotToSpot bool
	// Static lets NodePools with replicas be kept at that number.
	Static bool
	// Repair lists the conditions for which a node is repaired. Without any, no node is.
	Repair []RepairPolicy
	// Mode is that of NodePools without an annotation: Auto, DryRun or Approve. Empty is Auto.
	Mode string
	// Paused stops voluntary disruption of all NodePools.
	Paused bool
	// Simulate treats all nodes of NodePools as managed, initialized and consolidatable, with or without a claim.
	Simulate bool
	// Backoff holds the names of nodes whose disruption was rolled back a short while ago. They stay for now.
	Backoff map[string]bool
	// MaxNodes bounds how many nodes one decision disrupts voluntarily. 0 is no bound, a negative number allows none.
	MaxNodes int
	// MaxWhatIfs bounds how many hypotheses consolidation packs in one decision. It replaces a time limit: a count gives the
	// same decision on a slow machine. Candidates that were not reached come first in the next decision. Default 4,000.
	MaxWhatIfs int
}

// A RepairPolicy says that a node is repaired once its condition Type has been Status for Toleration.
type RepairPolicy struct {
	Type       corev1.NodeConditionType
	Status     corev1.ConditionStatus
	Toleration time.Duration
}

const (
	// maxWhatIfs is the default of Options.MaxWhatIfs.
	maxWhatIfs = 4000
	// maxTypes is the default of pack.Options.MaxTypes.
	maxTypes = 600
)

// Defaults of what a NodePool may set by annotation.
const (
	// movePrice is the price in dollars of moving one pod of ordinary importance.
	movePrice = 0.001
	// payback bounds how long a saving is counted on.
	payback = 4 * time.Hour
)

// tuning is how a NodePool weighs moves.
type tuning struct {
	movePrice float64
	payback   time.Duration
}

// tuningOf reads the annotations of the pool. Values that cannot be parsed are ignored.
func tuningOf(p *model.Pool) tuning {
	t := tuning{movePrice: movePrice, payback: payback}
	if v, err := strconv.ParseFloat(p.Object.Annotations[apiv1.MovePriceAnnotationKey], 64); err == nil && v >= 0 {
		t.movePrice = v
	}
	if d, err := time.ParseDuration(p.Object.Annotations[apiv1.PaybackAnnotationKey]); err == nil && d > 0 {
		t.payback = d
	}
	return t
}
