package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// solver has the flags that change how plans are made.
type solver struct {
	minValues, preferences, maxNodeCPU string
	// nodeOverheadCost is a fixed cost per node in USD/h; slack is the fraction of new nodes that is kept free;
	// scheduler is the file with the configuration of kube-scheduler.
	nodeOverheadCost, slack float64
	scheduler               string

	// file is the value of --settings, and filed its content. controller is what is known of the controller, nil before
	// the input was read. namespace is its namespace, empty if that is searched.
	file       string
	filed      *controllerState
	controller *controllerState
	// allOfferings is true if offerings count as available even if the controller of a capture could not launch them then.
	allOfferings bool
	namespace    string
	// given reports whether a flag was given. Then it takes precedence over the setting of the controller.
	given func(flag string) bool
}

func (s *solver) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.minValues, "min-values-policy", string(settings.MinValuesPolicyStrict),
		"Strict: do not launch if minValues cannot be met; BestEffort: relax minValues")
	f.StringVar(&s.preferences, "preference-policy", string(settings.PreferencePolicyRespect),
		"Preferred affinity and ScheduleAnyway spread constraints: Respect or Ignore")
	f.StringVar(&s.maxNodeCPU, "max-node-cpu", "", "Maximum cpu of a new node, for example 64 (default: unlimited)")
	f.Float64Var(&s.nodeOverheadCost, "node-overhead-cost", 0, "Fixed cost per node in USD/h added when plans are compared; not part of reported prices")
	f.Float64Var(&s.slack, "new-node-headroom", 0, "Fraction (0 to 0.5) of cpu and memory kept free on new nodes")
	f.StringVar(&s.scheduler, "scheduler-config", "",
		"Default topology spread constraints of kube-scheduler, as YAML; same format as the flag of the controller")
	f.StringVar(&s.file, "settings", "",
		"File with the controller's settings as YAML, names of flags with values; the word default selects the defaults of all flags (default: the settings of the controller, if it is found)")
	s.given = func(flag string) bool { return f.Changed(flag) }
}

// isGiven reports whether a flag was given.
func (s *solver) isGiven(flag string) bool { return s.given != nil && s.given(flag) }

func (s *solver) check() error {
	var errs []error
	switch settings.MinValuesPolicy(s.minValues) {
	case settings.MinValuesPolicyStrict, settings.MinValuesPolicyBestEffort:
	default:
		errs = append(errs, fmt.Errorf("--min-values-policy: unknown policy %q, use Strict or BestEffort", s.minValues))
	}
	switch settings.PreferencePolicy(s.preferences) {
	case settings.PreferencePolicyRespect, settings.PreferencePolicyIgnore:
	default:
		errs = append(errs, fmt.Errorf("--preference-policy: unknown policy %q, use Respect or Ignore", s.preferences))
	}
	if s.maxNodeCPU != "" {
		q, err := resource.ParseQuantity(s.maxNodeCPU)
		if err != nil || q.Sign() <= 0 {
			errs = append(errs, fmt.Errorf("--max-node-cpu: %q is not a cpu quantity, use for example 64", s.maxNodeCPU))
		} else if q.Cmp(*resource.NewQuantity(settings.MaxCores, resource.DecimalSI)) > 0 {
			errs = append(errs, fmt.Errorf("--max-node-cpu: %s cores are out of range, use at most %d", s.maxNodeCPU, settings.MaxCores))
		}
	}
	if !(s.nodeOverheadCost >= 0 && s.nodeOverheadCost <= settings.MaxOverheadCost) { // true also for NaN
		errs = append(errs, fmt.Errorf("--node-overhead-cost: %g is out of range 0 to %d USD/h", s.nodeOverheadCost, settings.MaxOverheadCost))
	}
	if !(s.slack >= 0 && s.slack <= settings.MaxHeadroom) {
		errs = append(errs, fmt.Errorf("--new-node-headroom: %g is out of range 0 to %g", s.slack, settings.MaxHeadroom))
	}
	if _, err := settings.ReadSchedulerConfig(s.scheduler); err != nil {
		errs = append(errs, fmt.Errorf("--scheduler-config: %w", err))
	}
	if s.file != "" {
		filed, err := controllerFile(s.file)
		if s.filed = filed; err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return coded{exitUsage, err}
	}
	return nil
}

// meetLive finds out what is known of the controller of a cluster.
func (s *solver) meetLive(ctx context.Context, r client.Reader) (warnings []string) {
	if s.controller = s.filed; s.controller == nil {
		s.controller, warnings = controllerOf(ctx, r, s.namespace)
	}
	return warnings
}

// meetManifests finds out from manifests what is known of the controller.
func (s *solver) meetManifests(set *manifest.Set) (warnings []string) {
	if s.controller = s.filed; s.controller == nil {
		s.controller, warnings = controllerIn(set)
	}
	return warnings
}

// options returns the options of the packer: those of the controller, and those of flags that were given.
func (s *solver) options() pack.Options {
	var o pack.Options
	if s.controller != nil {
		o = operator.PackOptions(s.controller.settings)
	}
	own := s.controller == nil
	if own || s.isGiven("min-values-policy") {
		o.RelaxMinValues = settings.MinValuesPolicy(s.minValues) == settings.MinValuesPolicyBestEffort
	}
	if own || s.isGiven("preference-policy") {
		o.PreferencePolicy = pack.PreferencePolicy(s.preferences)
	}
	if own || s.isGiven("node-overhead-cost") {
		o.NodeOverheadCost = s.nodeOverheadCost
	}
	if own || s.isGiven("new-node-headroom") {
		o.Slack = s.slack
	}
	if own || s.isGiven("max-node-cpu") {
		o.MaxNodeCPU = 0
		if q, err := resource.ParseQuantity(s.maxNodeCPU); err == nil {
			o.MaxNodeCPU = q.MilliValue()
		}
	}
	return o
}

// spread returns the default spread constraints, which apply to pods without spread constraints.
func (s *solver) spread() []corev1.TopologySpreadConstraint {
	if s.controller != nil && !s.isGiven("scheduler-config") {
		return s.controller.settings.Scheduler.PodTopologySpread.DefaultConstraints
	}
	c, err := settings.ReadSchedulerConfig(s.scheduler)
	if err != nil {
		return nil // check has already returned this error
	}
	return c.PodTopologySpread.DefaultConstraints
}
