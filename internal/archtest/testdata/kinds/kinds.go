// Package kinds makes errors that break the rule.
package kinds

import (
	"errors"
	"fmt"
)

func wrong(o any) error {
	return fmt.Errorf("list %T: %w", o, errors.ErrUnsupported) // want %T in the text of an error
}

func fine(o any) error {
	if o == nil {
		panic(fmt.Sprintf("unexpected %T", o))
	}
	return fmt.Errorf("list pods: %w", errors.ErrUnsupported)
}
