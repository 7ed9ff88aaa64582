// Command karpenter launches the nodes that pending pods need and ends those that nothing needs any more.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		stop()
		os.Exit(codeOf(err))
	}
}

// newRoot returns the program with all its commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "karpenter",
		Short:         "Node autoscaler for Kubernetes",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return coded{exitUsage, fmt.Errorf("there is no command %q; see karpenter --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return coded{exitUsage, err} })
	root.AddCommand(controllerCommand(), simulateCommand(), planCommand(), explainCommand(), catalogCommand(), versionCommand())
	root.AddCommand(convertCommand(), lintCommand(), doctorCommand(), migrateCommand())
	usageOfArgs(root)
	return root
}
