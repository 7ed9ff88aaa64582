package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// Exit codes; every command keeps to them.
const (
	exitBadInput    = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// coded is an error with an exit code.
type coded struct {
	code int
	error
}

func (c coded) Unwrap() error { return c.error }

func codeOf(err error) int {
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return exitBadInput
}

// usageOfArgs makes a wrong number of arguments a mistake of usage, for c and all commands below it.
func usageOfArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		usageOfArgs(sub)
		if check := sub.Args; check != nil {
			sub.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return coded{exitUsage, err}
				}
				return nil
			}
		}
	}
}
