package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/operator"
)

// Run executes the command that args name and returns the exit code. An error is printed on the standard error stream as one message.
func Run(args []string, version operator.Version) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := New(version)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		return codeOf(err)
	}
	return 0
}

// New returns the root command with all commands below it. A version without a commit gets the one that the go command recorded.
func New(version operator.Version) *cobra.Command {
	version = withCommit(version)
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
	root.AddCommand(controllerCommand(version), simulateCommand(), planCommand(), explainCommand(), catalogCommand(), versionCommand(version))
	root.AddCommand(convertCommand(), lintCommand(version), doctorCommand(), migrateCommand())
	usageOfArgs(root)
	return root
}
