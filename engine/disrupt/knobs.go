package disrupt

import (
	"strconv"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Defaults of the knobs that a pool may turn by annotation.
const (
	// MovePrice is what moving one pod of ordinary importance is taken to cost, in dollars.
	MovePrice = 0.001
	// Payback is how long a saving is counted on at most.
	Payback = 4 * time.Hour
	// overlap is how long a node and its replacement are both paid for.
	overlap = 5 * time.Minute
	// undoWindow is how long a replacement may not be replaced by what it replaced.
	undoWindow = 24 * time.Hour
)

// knobs are what a pool says of the worth of moves.
type knobs struct {
	movePrice float64
	payback   time.Duration
}

// knobsOf reads the annotations of the pool; what cannot be read counts as not said.
func knobsOf(p *model.Pool) knobs {
	k := knobs{movePrice: MovePrice, payback: Payback}
	if v, err := strconv.ParseFloat(p.Object.Annotations[apiv1.MovePriceAnnotationKey], 64); err == nil && v >= 0 {
		k.movePrice = v
	}
	if d, err := time.ParseDuration(p.Object.Annotations[apiv1.PaybackAnnotationKey]); err == nil && d > 0 {
		k.payback = d
	}
	return k
}

// ModeOf returns the mode of the pool, given that of the process. What is no mode counts as DryRun: somebody meant to hold
// something back.
func ModeOf(p *model.Pool, global string) string {
	mode, ok := p.Object.Annotations[apiv1.ModeAnnotationKey]
	if !ok {
		mode = global
	}
	switch mode {
	case "", apiv1.ModeAuto:
		return apiv1.ModeAuto
	case apiv1.ModeApprove:
		return apiv1.ModeApprove
	}
	return apiv1.ModeDryRun
}
