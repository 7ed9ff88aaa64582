package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/internal/operator"
)

// Run executes the command that args name and returns the exit code. An error is printed to standard error as one
// message.
func Run(args []string, version operator.Version) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	root := New(version)
	root.SetArgs(args)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	err := namesCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		return codeOf(err)
	}
	return 0
}

// New returns the root command with all commands below it. If version has no commit, it gets the commit that the go
// command recorded.
func New(version operator.Version) *cobra.Command {
	version = withCommit(version)
	root := &cobra.Command{
		Use:   "karpenter",
		Short: "Node autoscaler for Kubernetes",
		Long: "Karpenter launches nodes for pending pods and removes nodes that are not needed.\n\n" +
			"The command controller runs it in a cluster. The other commands only read a cluster, an account or manifests, with\n" +
			"these exceptions: disrupt and consolidate set annotations, and provider launches instances.\n" +
			"Exit codes: 0 done, 1 invalid input or findings that are errors, 2 wrong usage, 3 the cluster or the cloud cannot be\n" +
			"reached, 130 interrupted; simulate also has 4.",
		Example: "  karpenter simulate -f deployment.yaml        # which nodes would be launched\n" +
			"  karpenter explain pod web-0 -n shop          # why a pod is pending\n" +
			"  karpenter doctor cluster                     # whether the controller has what it needs",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(root *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(root, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.Contains(err.Error(), "unknown unit") { // such as 7d
			err = fmt.Errorf("%w; use hours or smaller units, for example 168h for a week", err)
		}
		return coded{exitUsage, err}
	})
	root.AddCommand(controllerCommand(version), simulateCommand(), planCommand(), explainCommand(), costCommand(), catalogCommand(), versionCommand(version))
	root.AddCommand(convertCommand(), lintCommand(version), doctorCommand(version), migrateCommand(), timelineCommand(), topCommand(), mcpCommand(version), disruptCommand(), consolidateCommand(), captureCommand(), backtestCommand(), providerCommand(version))
	root.SetHelpCommand(helpCommand())
	usageOfArgs(root)
	return root
}

// helpCommand prints the help of a command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Long:    "Show the help of a command, the same as COMMAND --help.",
		Example: "  karpenter help simulate",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := namesCommand(cmd.Root(), args); err != nil {
				return err
			}
			named, _, err := cmd.Root().Find(args)
			if err != nil {
				return coded{exitUsage, err}
			}
			named.InitDefaultHelpFlag()
			return named.Help()
		},
	}
}

// namesCommand returns an error if args name a command that does not exist. Without this check, cobra would print the
// help of the parent command for an unknown command with --help.
func namesCommand(root *cobra.Command, args []string) error {
	found, rest, err := root.Find(args)
	if err != nil || !found.HasSubCommands() {
		return nil // ExecuteContext reports it, or there is nothing to report
	}
	for i := 0; i < len(rest); i++ {
		switch word := rest[i]; {
		case strings.HasPrefix(word, "-"):
			if takesNext(found, word) {
				i++
			}
		case !strings.HasPrefix(word, "__"): // __complete is for shells
			return unknownCommand(found, word)
		}
	}
	return nil
}

// takesNext reports whether word is a flag of the command whose value is the next word.
func takesNext(c *cobra.Command, word string) bool {
	var f *pflag.Flag
	switch name, long := strings.CutPrefix(word, "--"); {
	case long:
		f = c.Flags().Lookup(name)
	case len(word) == 2:
		f = c.Flags().ShorthandLookup(word[1:])
	}
	return f != nil && f.NoOptDefVal == ""
}

// unknownCommand is the error for a word that is not a command below parent.
func unknownCommand(parent *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q", word)
	if parent.SuggestionsMinimumDistance == 0 {
		parent.SuggestionsMinimumDistance = 2
	}
	if near := parent.SuggestionsFor(word); len(near) > 0 {
		text += fmt.Sprintf(", did you mean %q?", near[0])
	} else {
		text += "."
	}
	return coded{exitUsage, fmt.Errorf("%s Run %s --help", text, parent.CommandPath())}
}
