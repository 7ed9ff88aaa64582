package throttle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Limits are what is held back. The zero value holds nothing back.
type Limits struct {
	// PauseLaunches keeps nodes from being launched, whatever for; PauseDisruption keeps nodes from going by choice.
	PauseLaunches, PauseDisruption bool
	// MaxLaunches, MaxReplacements and MaxDisruptions bound within any minute how many nodes are launched for pods that wait,
	// how many in the place of others, and how many go by choice; 0 for no bound.
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

// With returns l with what data says instead. The error joins what is wrong with it: keys that do not exist, a pause that
// is neither true nor false, a bound that is no number or less than 0. A wrong pause counts as one: it was meant to hold
// something back. Anything else that is wrong changes nothing.
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
		errs = append(errs, fmt.Errorf("%s: unknown key; use one of %s", key,
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
