package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/spf13/cobra"
)

func TestInterruptible(t *testing.T) {
	t.Parallel()
	never, own := make(chan struct{}), errors.New("own error")
	for name, c := range map[string]struct {
		run  func(cancel context.CancelFunc) error
		want int
	}{
		"a cancelled command ends while it computes": {func(cancel context.CancelFunc) error { cancel(); <-never; return nil }, exitInterrupted},
		"a command that ends returns its own error":  {func(context.CancelFunc) error { return coded{exitUsage, own} }, exitUsage},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := &cobra.Command{}
		cmd.SetContext(ctx)
		err := interruptible(func(*cobra.Command, []string) error { return c.run(cancel) })(cmd, nil)
		if got := codeOf(err); got != c.want {
			t.Errorf("%s: exit code is %d (%v), want %d", name, got, err, c.want)
		}
		cancel()
	}
	close(never)
}
