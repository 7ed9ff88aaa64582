package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/local/cluster"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// usageError is the error of an invalid command line.
type usageError struct{ error }

// exitCode is an error that was already printed, with the exit code.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// A Part is one program of the cluster.
type Part struct {
	Name  string // the subcommand that runs it
	Short string // one line for the help text
	// Run executes the program until it ends or ctx is done. args are passed to the program unchanged.
	Run func(ctx context.Context, args []string) error
}

// Programs has the programs that the commands run. They are arguments, so that the commands can be tested without
// linking Kubernetes.
type Programs struct {
	Parts []Part
	// Kubectl runs kubectl and returns its exit code, unless kubectl ends the process.
	Kubectl func(args []string) int
}

// Run executes the command line and returns the exit code. An error is printed to standard error as one message.
func Run(args []string, programs Programs) int {
	// The Kubernetes programs install their own signal handlers by a function that panics when it is called twice. So
	// Run does not use that function.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(programs)
	root.SetArgs(args)
	err := namesCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(os.Stderr, "karpenter-local: %v\n", err)
	var usage usageError
	var option cluster.OptionError
	switch {
	case errors.As(err, &usage), errors.As(err, &option):
		return exitUsage
	case errors.Is(err, cluster.ErrNone), errors.Is(err, errUnreachable):
		return exitUnreachable
	}
	return exitFailed
}

// namesCommand returns an error if args name a command that does not exist. Without this check, cobra would print the
// help of the parent command for an unknown command with --help.
func namesCommand(root *cobra.Command, args []string) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	found, rest, err := root.Find(args)
	if err != nil || !found.HasSubCommands() {
		return nil // ExecuteContext reports an error, if there is one
	}
	value := false // the next word is the value of a flag
	for _, word := range rest {
		switch {
		case value:
			value = false
		case word == "--dir":
			value = true
		case !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "__"): // __complete is for shells
			text := fmt.Sprintf("unknown command %q", word)
			found.SuggestionsMinimumDistance = 2
			if near := found.SuggestionsFor(word); len(near) > 0 {
				return usageError{fmt.Errorf("%s, did you mean %q? Run %s --help", text, near[0], found.CommandPath())}
			}
			return usageError{fmt.Errorf("%s. Run %s --help", text, found.CommandPath())}
		}
	}
	return nil
}

// errUnreachable marks a failure to reach the cluster or the emulator.
var errUnreachable = errors.New("unreachable")

// app is the state that the commands share.
type app struct {
	dir      string
	programs Programs
}

func newRoot(programs Programs) *cobra.Command {
	a := &app{programs: programs}
	root := &cobra.Command{
		Use:   "karpenter-local",
		Short: "Run a local Kubernetes cluster with Karpenter, without Docker or cloud",
		Long:  "Run a Kubernetes cluster with Karpenter on this machine, without Docker or a cloud. AWS is emulated.",
		Example: "  karpenter-local up\n" +
			"  karpenter-local kubectl get nodes\n" +
			"  karpenter-local aws instances\n" +
			"  karpenter-local down",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usage(cobra.NoArgs),
		// Without RunE, an unknown command would print the help text.
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().StringVar(&a.dir, "dir", defaultDir, "Directory of the cluster's state")
	root.AddGroup(
		&cobra.Group{ID: "cluster", Title: "Cluster commands:"},
		&cobra.Group{ID: "use", Title: "Use the cluster:"},
		&cobra.Group{ID: "parts", Title: "Parts of the cluster (started by up):"},
	)
	add(root, "cluster", a.up(), a.down(), a.status(), a.snapshot(), a.restore())
	add(root, "use", a.demo(), a.kubectl(), a.aws(), a.kubeconfig(), a.logs())
	for _, part := range programs.Parts {
		add(root, "parts", partCommand(part))
	}
	add(root, "parts", a.watchdog())
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
		root.AddCommand(cmd)
	}
}

// usage converts an error of check, which is about the number of arguments, to a usage error.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w. Run %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

// partCommand passes all arguments after the part's name to the part.
func partCommand(part Part) *cobra.Command {
	return &cobra.Command{
		Use:                part.Name,
		Short:              part.Short,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return part.Run(cmd.Context(), args)
		},
	}
}

// defaultDir is the default of --dir, the directory with a cluster's state.
const defaultDir = ".local"

// invocation returns the command by which to call this program again, for hints.
func invocation(dir string) string {
	if dir == defaultDir {
		return os.Args[0]
	}
	return os.Args[0] + " --dir " + dir
}

// open returns the cluster in the directory --dir.
func (a *app) open(o cluster.Options) (*cluster.Cluster, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own program: %w", err)
	}
	o.Dir = a.dir
	o.Binary = self
	return cluster.Open(o)
}
