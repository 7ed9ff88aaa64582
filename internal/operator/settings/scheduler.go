package settings

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// SchedulerConfig has those settings of the cluster's kube-scheduler that affect where pods can be bound.
type SchedulerConfig struct {
	PodTopologySpread PodTopologySpread `json:"podTopologySpread,omitempty"`
}

// PodTopologySpread has kube-scheduler's default spread constraints, for pods that have none of their own.
type PodTopologySpread struct {
	// DefaultConstraints have no label selector. It is derived from the services and the owner of each pod.
	DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints,omitempty"`
}

// ReadSchedulerConfig parses the value of --scheduler-config, which is YAML. The error joins all mistakes.
func ReadSchedulerConfig(text string) (SchedulerConfig, error) {
	var c SchedulerConfig
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		return c, fmt.Errorf("decode: %w", err)
	}
	return c, errors.Join(c.validate()...)
}

// validate returns an error for each mistake in the constraints.
func (c SchedulerConfig) validate() []error {
	type kind struct {
		key  string
		when corev1.UnsatisfiableConstraintAction
	}
	var errs []error
	seen := map[kind]bool{}
	for i, tsc := range c.PodTopologySpread.DefaultConstraints {
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("podTopologySpread.defaultConstraints[%d]%s", i, fmt.Sprintf(format, args...)))
		}
		if tsc.MaxSkew <= 0 {
			fail(".maxSkew is %d, want more than 0", tsc.MaxSkew)
		}
		if problems := validation.IsQualifiedName(tsc.TopologyKey); len(problems) > 0 {
			fail(".topologyKey %q: %s", tsc.TopologyKey, strings.Join(problems, ", "))
		}
		switch tsc.WhenUnsatisfiable {
		case corev1.DoNotSchedule, corev1.ScheduleAnyway:
		default:
			fail(".whenUnsatisfiable is %q, want %s or %s",
				tsc.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
		}
		if tsc.LabelSelector != nil || len(tsc.MatchLabelKeys) > 0 {
			fail(": labelSelector and matchLabelKeys are made from each pod and must not be set")
		}
		if k := (kind{tsc.TopologyKey, tsc.WhenUnsatisfiable}); seen[k] {
			fail(" repeats %s with %s", k.key, k.when)
		} else {
			seen[k] = true
		}
	}
	return errs
}
