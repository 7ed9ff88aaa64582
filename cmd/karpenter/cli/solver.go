package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// solver are the flags that change how plans are made.
type solver struct {
	minValues, preferences, maxNodeCPU string
	// nodeOverheadCost is what a node costs besides its price, in dollars per hour; slack the share of new nodes that is left free;
	// scheduler what kube-scheduler was configured with.
	nodeOverheadCost, slack float64
	scheduler               string
}

func (s *solver) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.minValues, "min-values-policy", string(settings.MinValuesPolicyStrict),
		"what becomes of minValues that cannot be met: Strict or BestEffort")
	f.StringVar(&s.preferences, "preference-policy", string(settings.PreferencePolicyRespect),
		"what becomes of preferred affinity and of spread that may be violated: Respect or Ignore")
	f.StringVar(&s.maxNodeCPU, "max-node-cpu", "", "most cpu that a new node may have, such as 64 (default: any)")
	f.Float64Var(&s.nodeOverheadCost, "node-overhead-cost", 0, "what a node costs an hour besides its price, in dollars; weighed, and in no price that is told")
	f.Float64Var(&s.slack, "new-node-headroom", 0, "share of the cpu and memory of new nodes that is left free, 0 to 0.5")
	f.StringVar(&s.scheduler, "scheduler-config", "",
		"what kube-scheduler gives pods that say nothing about spread, as the controller's flag of that name has it: YAML")
}

func (s *solver) check() error {
	var errs []error
	switch settings.MinValuesPolicy(s.minValues) {
	case settings.MinValuesPolicyStrict, settings.MinValuesPolicyBestEffort:
	default:
		errs = append(errs, fmt.Errorf("--min-values-policy is %q, want Strict or BestEffort", s.minValues))
	}
	switch settings.PreferencePolicy(s.preferences) {
	case settings.PreferencePolicyRespect, settings.PreferencePolicyIgnore:
	default:
		errs = append(errs, fmt.Errorf("--preference-policy is %q, want Respect or Ignore", s.preferences))
	}
	if s.maxNodeCPU != "" {
		if q, err := resource.ParseQuantity(s.maxNodeCPU); err != nil || q.Sign() <= 0 {
			errs = append(errs, fmt.Errorf("--max-node-cpu is %q, want a number of cpus such as 64", s.maxNodeCPU))
		}
	}
	if !(s.nodeOverheadCost >= 0) { // not a number is neither
		errs = append(errs, fmt.Errorf("--node-overhead-cost is %g, want 0 or more", s.nodeOverheadCost))
	}
	if !(s.slack >= 0 && s.slack <= settings.MaxHeadroom) {
		errs = append(errs, fmt.Errorf("--new-node-headroom is %g, want 0 to %g", s.slack, settings.MaxHeadroom))
	}
	if _, err := settings.ReadSchedulerConfig(s.scheduler); err != nil {
		errs = append(errs, fmt.Errorf("--scheduler-config: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return coded{exitUsage, err}
	}
	return nil
}

func (s *solver) options() pack.Options {
	o := pack.Options{
		RelaxMinValues:   settings.MinValuesPolicy(s.minValues) == settings.MinValuesPolicyBestEffort,
		PreferencePolicy: pack.PreferencePolicy(s.preferences), NodeOverheadCost: s.nodeOverheadCost, Slack: s.slack,
	}
	if q, err := resource.ParseQuantity(s.maxNodeCPU); err == nil {
		o.MaxNodeCPU = q.MilliValue()
	}
	return o
}

// spread returns the default spread constraints of pods without any.
func (s *solver) spread() []corev1.TopologySpreadConstraint {
	c, err := settings.ReadSchedulerConfig(s.scheduler)
	if err != nil {
		return nil // check has refused it
	}
	return c.PodTopologySpread.DefaultConstraints
}
