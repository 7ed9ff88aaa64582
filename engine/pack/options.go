package pack

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// Options tunes Solve. The zero value is ready to use.
type Options struct {
	// Labels are the labels that pods and pools may ask for before a node exists, and aliases of old ones.
	Labels apiv1.LabelRules
	// MaxTypes is how many instance types a new node may still choose from when it is launched. More types make a spot
	// launch likelier to succeed. Default 600.
	MaxTypes int
	// MaxPatterns is how many nodes Solve may open before it refuses the pods that remain. It replaces a time limit: a count
	// gives the same plan on a slow machine. Default 1,000,000.
	MaxPatterns int
	// Effort scales how long Solve looks for a cheaper plan once it has one. Default 1; a negative value looks for none.
	Effort int
	// Leave holds the keys of pods that are refused unseen, each with the reason that its refusal gives.
	Leave map[string]string
	// RelaxMinValues launches a node also when fewer distinct values are left than the pool's minValues asks for. Default
	// false: refuse.
	RelaxMinValues bool
	// PreferencePolicy says what to do with preferred affinity and spread that may be ignored. Default PreferenceRespect.
	PreferencePolicy PreferencePolicy
	// DefaultSpread returns the constraints of a pod that has none of its own; nil means that there are none.
	DefaultSpread func(*model.Pod) []corev1.TopologySpreadConstraint
	// NodeFee is what a node costs besides its price, in dollars per hour: its root volume, its address, agents and licences
	// that are paid by the node. It is weighed, and not part of any price that is reported. Default 0.
	NodeFee float64
	// MaxNodeCPU is the most cpu that a new node may have, in millicores, to bound what is lost with one. Default 0: any.
	MaxNodeCPU int64
	// Slack is the share of a new node's cpu and memory that is left free, 0 to 0.5, for schedulers that put pods elsewhere
	// than planned. A pod that would have no place for it goes without. Default 0.
	Slack float64
}

// A PreferencePolicy says how preferences count.
type PreferencePolicy string

// The policies: preferences are kept as long as pods find a place, or not looked at.
const (
	PreferenceRespect PreferencePolicy = "Respect"
	PreferenceIgnore  PreferencePolicy = "Ignore"
)

// maxSlack is the largest Slack: with more, nodes would be planned for half of what they hold.
const maxSlack = 0.5

// settings returns the options that compilation looks at.
func (o Options) settings() compile.Settings {
	return compile.Settings{
		Settings:          catalog.Settings{Labels: o.Labels, MaxNodeCPU: o.MaxNodeCPU, RelaxMinValues: o.RelaxMinValues},
		IgnorePreferences: o.PreferencePolicy == PreferenceIgnore, Refuse: o.Leave, DefaultSpread: o.DefaultSpread, Slack: o.Slack,
	}
}

// withDefaults returns o with its zero fields set.
func (o Options) withDefaults() Options {
	if o.MaxTypes == 0 {
		o.MaxTypes = 600
	}
	if o.MaxPatterns == 0 {
		o.MaxPatterns = 1_000_000
	}
	if o.Effort == 0 {
		o.Effort = 1
	}
	return o
}

// Validate reports every bad field at once.
func (o Options) Validate() error {
	var errs []error
	if o.MaxTypes < 0 {
		errs = append(errs, fmt.Errorf("maxTypes is %d, want 0 or more", o.MaxTypes))
	}
	if o.MaxPatterns < 0 {
		errs = append(errs, fmt.Errorf("maxPatterns is %d, want 0 or more", o.MaxPatterns))
	}
	if p := o.PreferencePolicy; p != "" && p != PreferenceRespect && p != PreferenceIgnore {
		errs = append(errs, fmt.Errorf("preferencePolicy is %q, want Respect or Ignore", p))
	}
	if o.MaxNodeCPU < 0 {
		errs = append(errs, fmt.Errorf("maxNodeCPU is %d, want 0 or more", o.MaxNodeCPU))
	}
	if o.NodeFee < 0 {
		errs = append(errs, fmt.Errorf("nodeFee is %g, want 0 or more", o.NodeFee))
	}
	if !(o.Slack >= 0 && o.Slack <= maxSlack) { // not a number is neither
		errs = append(errs, fmt.Errorf("slack is %g, want 0 to %g", o.Slack, maxSlack))
	}
	return errors.Join(errs...)
}
