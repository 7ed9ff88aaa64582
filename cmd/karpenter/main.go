// Command karpenter launches the nodes that pending pods need and ends those that nothing needs any more.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes; every command keeps to them.
const (
	exitBadInput    = 1
	exitUsage       = 2
	exitUnreachable = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "karpenter",
		Short:         "Node autoscaler for Kubernetes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return coded{exitUsage, err} })
	root.AddCommand(controllerCommand(), versionCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		stop()
		os.Exit(codeOf(err))
	}
}

// coded is an error that says with which code to exit.
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
