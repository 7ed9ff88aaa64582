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
	exitInterrupted = 130 // 128 + SIGINT, as shells report it
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

// interruptible returns run for a command that only reads and computes. A signal cancels the command's context, and then
// the command ends at once. Planning does not watch the context itself, because the engine is pure.
func interruptible(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ended := make(chan error, 1)
		go func() { ended <- run(cmd, args) }()
		select {
		case err := <-ended:
			return err
		case <-cmd.Context().Done():
			return coded{exitInterrupted, errors.New("interrupted, nothing was changed")}
		}
	}
}
