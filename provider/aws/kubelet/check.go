package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

var (
	signals  = []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}
	reserved = []string{"cpu", "memory", "ephemeral-storage", "pid"}
)

// check returns an error for each invalid value of c.
func (c Config) check() []error {
	var errs []error
	errs = append(errs, checkThresholds("evictionHard", c.EvictionHard)...)
	errs = append(errs, checkThresholds("evictionSoft", c.EvictionSoft)...)
	errs = append(errs, c.checkGrace()...)
	errs = append(errs, c.checkReserved()...)
	errs = append(errs, c.checkNumbers()...)
	return errs
}

func checkThresholds(field string, m map[string]string) []error {
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(signals, k) {
			errs = append(errs, fmt.Errorf("%s: unknown signal %q, use one of %s", field, k, strings.Join(signals, ", ")))
			continue
		}
		v, err := Threshold(m[k], 100)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s.%s: %w", field, k, err))
		case v < 0:
			errs = append(errs, fmt.Errorf("%s.%s: %q is negative", field, k, m[k]))
		}
	}
	return errs
}

func (c Config) checkGrace() []error {
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(c.EvictionSoftGracePeriod)) {
		if !slices.Contains(signals, k) {
			errs = append(errs, fmt.Errorf("evictionSoftGracePeriod: unknown signal %q", k))
		}
		d, err := time.ParseDuration(c.EvictionSoftGracePeriod[k])
		if err != nil || d < 0 {
			errs = append(errs, fmt.Errorf("evictionSoftGracePeriod.%s: %q is not a duration of zero or more",
				k, c.EvictionSoftGracePeriod[k]))
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(c.EvictionSoft)), slices.Sorted(maps.Keys(c.EvictionSoftGracePeriod))) {
		errs = append(errs, errors.New("evictionSoft and evictionSoftGracePeriod must name the same signals"))
	}
	return errs
}

func (c Config) checkReserved() []error {
	var errs []error
	for _, field := range []string{"kubeReserved", "systemReserved"} {
		m, _ := c.Raw[field].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !slices.Contains(reserved, k) {
				errs = append(errs, fmt.Errorf("%s: unknown resource %q, use one of %s", field, k, strings.Join(reserved, ", ")))
			}
			if s, ok := m[k].(string); ok && strings.HasPrefix(s, "-") {
				errs = append(errs, fmt.Errorf("%s.%s: %q is negative", field, k, s))
			}
		}
	}
	return errs
}

func (c Config) checkNumbers() []error {
	var errs []error
	for _, f := range []struct {
		name  string
		value *int32
		most  int32
	}{
		{"maxPods", c.MaxPods, 1<<31 - 1},
		{"podsPerCore", c.PodsPerCore, 1<<31 - 1},
		{"evictionMaxPodGracePeriod", c.EvictionMaxPodGracePeriod, 1<<31 - 1},
		{"imageGCHighThresholdPercent", c.ImageGCHighThresholdPercent, 100},
		{"imageGCLowThresholdPercent", c.ImageGCLowThresholdPercent, 100},
	} {
		switch {
		case f.value == nil:
		case *f.value < 0:
			errs = append(errs, fmt.Errorf("%s: %d is negative", f.name, *f.value))
		case *f.value > f.most:
			errs = append(errs, fmt.Errorf("%s: %d is more than %d", f.name, *f.value, f.most))
		}
	}
	high, low := c.ImageGCHighThresholdPercent, c.ImageGCLowThresholdPercent
	if high != nil && low != nil && *high <= *low {
		errs = append(errs, fmt.Errorf(
			"imageGCHighThresholdPercent: %d must be more than imageGCLowThresholdPercent, which is %d", *high, *low))
	}
	return errs
}
