package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes of all commands. 0 means done.
const (
	exitBadInput    = 1
	exitUsage       = 2
	exitUnreachable = 3
	// exitUnschedulable is used only with a flag that requests it.
	exitUnschedulable = 4
	exitInterrupted   = 130 // 128 + SIGINT, as shells report it
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

// noArgs is the check of commands without arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: %s takes no arguments", args[0], cmd.CommandPath())
	}
	return nil
}

// errNoFiles is the error of a command that needs manifests, if no files are given.
var errNoFiles = coded{exitUsage, errors.New("required flag -f/--filename not set (FILE, DIR, or - for standard input)")}

// filesUsage is the help of the flag -f.
const filesUsage = "File or directory of manifests, - for standard input; may be repeated"

// usageOfArgs makes a wrong number of arguments a usage error, for all commands below c.
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

// interruptible wraps the function run of a command that only reads and computes. A signal cancels the command's
// context, and the command then ends immediately. Planning does not check the context, because the engine is pure.
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
