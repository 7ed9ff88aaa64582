package throttle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Limits are the pauses and limits for the whole cluster. The zero value has none.
type Limits struct {
	// PauseLaunches stops all launches of nodes. PauseDisruption stops voluntary disruption.
	PauseLaunches, PauseDisruption bool
	// MaxLaunches, MaxReplacements and MaxDisruptions limit the actions of the three Kinds within any minute; 0 stands
	// for no limit.
	MaxLaunches, MaxReplacements, MaxDisruptions int
}

// Keys of the ConfigMap. They are named like the settings that they override.
const (
	KeyPauseLaunches   = "pause-launches"
	KeyPauseDisruption = "pause-disruption"
	KeyMaxLaunches     = "max-launches-per-minute"
	KeyMaxReplacements = "max-replacements-per-minute"
	KeyMaxDisruptions  = "max-disruptions-per-minute"
)

// With returns l with the values of data, which take precedence. The error joins all mistakes in data: unknown keys, a
// pause that is neither true nor false, a limit that is negative or not a whole number. An invalid pause counts as true,
// because its author probably wanted to stop something. Other invalid values have no effect.
func (l Limits) With(data map[string]string) (Limits, error) {
	pauses := map[string]*bool{KeyPauseLaunches: &l.PauseLaunches, KeyPauseDisruption: &l.PauseDisruption}
	bounds := map[string]*int{
		KeyMaxLaunches: &l.MaxLaunches, KeyMaxReplacements: &l.MaxReplacements, KeyMaxDisruptions: &l.MaxDisruptions,
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := strings.TrimSpace(data[key])
		if p := pauses[key]; p != nil {
			yes, err := strconv.ParseBool(value)
			if *p = yes || err != nil; err != nil {
				errs = append(errs, fmt.Errorf("%s: %q is not a boolean, taken for true; use true or false", key, value))
			}
			continue
		}
		if b := bounds[key]; b != nil {
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				errs = append(errs, fmt.Errorf("%s: %q is ignored; use a whole number of 0 or more", key, value))
				continue
			}
			*b = n
			continue
		}
		errs = append(errs, fmt.Errorf("%s: unknown key, ignored; use one of %s", key,
			strings.Join(slices.Sorted(maps.Keys(merged(pauses, bounds))), ", ")))
	}
	return l, errors.Join(errs...)
}

func merged(pauses map[string]*bool, bounds map[string]*int) map[string]bool {
	keys := map[string]bool{}
	for k := range pauses {
		keys[k] = true
	}
	for k := range bounds {
		keys[k] = true
	}
	return keys
}
