package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/local/cluster"
)

// kubectl returns the command that passes all arguments except --dir to kubectl. Its flags are not parsed here,
// because most of them are flags of kubectl.
func (a *app) kubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl",
		Short: "Run kubectl against the cluster (built in)",
		Long:  "Run the built-in kubectl against the cluster. All arguments except --dir are passed to kubectl.",
		Example: "  karpenter-local kubectl get nodepools,nodeclaims,nodes\n" +
			"  karpenter-local --dir other kubectl apply -f examples/quickstart",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			args, err := a.takeDir(args)
			if err != nil {
				return err
			}
			c, err := a.open(cluster.Options{})
			if err != nil {
				return err
			}
			// Without a local cluster, kubectl would use the cluster in the user's own configuration.
			if !c.Dir().Exists() {
				return fmt.Errorf("open %s: %w", c.Dir(), cluster.ErrNone)
			}
			if err := os.Setenv("KUBECONFIG", c.Dir().Kubeconfig()); err != nil {
				return fmt.Errorf("set KUBECONFIG: %w", err)
			}
			if code := a.programs.Kubectl(args); code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
}

// takeDir removes --dir from args, up to a "--" that ends flags, and stores its value.
func (a *app) takeDir(args []string) ([]string, error) {
	var rest []string
	for i := 0; i < len(args); i++ {
		value, assigned := strings.CutPrefix(args[i], "--dir=")
		switch {
		case args[i] == "--":
			return append(rest, args[i:]...), nil
		case assigned:
			a.dir = value
		case args[i] == "--dir":
			if i++; i == len(args) {
				return nil, usageError{fmt.Errorf("flag needs an argument: --dir")}
			}
			a.dir = args[i]
		default:
			rest = append(rest, args[i])
		}
	}
	return rest, nil
}

func (a *app) kubeconfig() *cobra.Command {
	return &cobra.Command{
		Use:     "kubeconfig",
		Short:   "Print the administrator's kubeconfig",
		Example: "  karpenter-local kubeconfig > ~/.kube/local",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.open(cluster.Options{})
			if err != nil {
				return err
			}
			if !c.Dir().Exists() {
				return fmt.Errorf("open %s: %w", c.Dir(), cluster.ErrNone)
			}
			data, err := os.ReadFile(c.Dir().Kubeconfig())
			if err != nil {
				return fmt.Errorf("read kubeconfig: %w", err)
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
}
