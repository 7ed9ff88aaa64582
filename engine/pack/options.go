package pack

import (
	"errors"
	"fmt"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Options tunes Solve. The zero value is ready to use.
type Options struct {
	// Labels are the labels that pods and pools may ask for before a node exists, and aliases of old ones.
	Labels apiv1.LabelRules
	// MaxTypes is how many instance types a new node may still choose from when it is launched. More types make a spot
	// launch likelier to succeed. Default 600.
	MaxTypes int
	// MaxPatterns is how many patterns Solve may choose before it refuses the pods that remain. It replaces a time limit: a
	// count gives the same plan on a slow machine. Default 100,000.
	MaxPatterns int
	// Leave holds the keys of pods that are refused unseen, each with the reason that its refusal gives.
	Leave map[string]string
	// RelaxMinValues launches a node also when fewer distinct values are left than the pool's minValues asks for. Default
	// false: refuse.
	RelaxMinValues bool
}

// withDefaults returns o with its zero fields set.
func (o Options) withDefaults() Options {
	if o.MaxTypes == 0 {
		o.MaxTypes = 600
	}
	if o.MaxPatterns == 0 {
		o.MaxPatterns = 100_000
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
	return errors.Join(errs...)
}
