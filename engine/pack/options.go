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

// Options are the settings of Solve. The zero value is valid.
type Options struct {
	// Labels names the well-known labels, and current names for deprecated ones. A pod may require a well-known label
	// that no NodePool defines.
	Labels apiv1.LabelRules
	// MaxTypes is the most instance types that a new node may offer to its launch. With more types, a spot launch is
	// more likely to succeed. Default 600.
	MaxTypes int
	// Effort scales how long Solve improves a plan that it has found. Default 1. A negative value means no improvement.
	Effort int
	// Leave holds pods that are refused without planning them: the reason, by pod key.
	Leave map[string]model.Verdict
	// RelaxMinValues launches a node even if fewer distinct values are left than the pool's minValues requires. Default
	// false: the pods are refused.
	RelaxMinValues bool
	// PreferencePolicy says how to treat preferred affinity and spread with ScheduleAnyway. Default PreferenceRespect.
	PreferencePolicy PreferencePolicy
	// DefaultSpread returns the spread constraints of a pod that has none of its own. A nil function means none.
	DefaultSpread func(*model.Pod) []corev1.TopologySpreadConstraint
	// NodeOverheadCost is the cost of a node besides its price, in dollars per hour: root volume, address, agents and licences
	// per node. It influences decisions, but reported prices do not include it. Default 0.
	NodeOverheadCost float64
	// MaxNodeCPU is the most cpu of a new node, in millicores. It bounds how much capacity one node failure takes away.
	// Default 0: no bound.
	MaxNodeCPU int64
	// Slack is the share of a new node's cpu and memory that is left free, 0 to 0.5. It helps schedulers that bind pods
	// elsewhere than planned. If slack leaves pods without a place, the plan is made without it. Default 0.
	Slack float64
}

// A PreferencePolicy says how preferences of pods are treated.
type PreferencePolicy string

// PreferenceRespect keeps preferences as long as the pods find a place. PreferenceIgnore ignores them.
const (
	PreferenceRespect PreferencePolicy = "Respect"
	PreferenceIgnore  PreferencePolicy = "Ignore"
)

// maxSlack is the largest valid Slack: at most half of a node may be left free.
const maxSlack = 0.5

// settings returns the options that package compile uses.
func (o Options) settings() compile.Settings {
	return compile.Settings{
		Settings:          catalog.Settings{Labels: o.Labels, MaxNodeCPU: o.MaxNodeCPU, RelaxMinValues: o.RelaxMinValues},
		IgnorePreferences: o.PreferencePolicy == PreferenceIgnore, Refuse: o.Leave, DefaultSpread: o.DefaultSpread, Slack: o.Slack,
	}
}

// withDefaults returns o with defaults in place of zero values.
func (o Options) withDefaults() Options {
	if o.MaxTypes == 0 {
		o.MaxTypes = 600
	}
	if o.Effort == 0 {
		o.Effort = 1
	}
	return o
}

// Validate returns one error that lists all invalid fields.
func (o Options) Validate() error {
	var errs []error
	if o.MaxTypes < 0 {
		errs = append(errs, fmt.Errorf("maxTypes is %d, want 0 or more", o.MaxTypes))
	}
	if p := o.PreferencePolicy; p != "" && p != PreferenceRespect && p != PreferenceIgnore {
		errs = append(errs, fmt.Errorf("preferencePolicy is %q, want Respect or Ignore", p))
	}
	if o.MaxNodeCPU < 0 {
		errs = append(errs, fmt.Errorf("maxNodeCPU is %d, want 0 or more", o.MaxNodeCPU))
	}
	if o.NodeOverheadCost < 0 {
		errs = append(errs, fmt.Errorf("nodeOverheadCost is %g, want 0 or more", o.NodeOverheadCost))
	}
	if !(o.Slack >= 0 && o.Slack <= maxSlack) { // also rejects NaN
		errs = append(errs, fmt.Errorf("slack is %g, want 0 to %g", o.Slack, maxSlack))
	}
	return errors.Join(errs...)
}
