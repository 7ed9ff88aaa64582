package parts

import (
	"context"

	"github.com/spf13/cobra"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// A Part is one program of the cluster.
type Part struct {
	Name  string // the subcommand that runs it
	Short string // one line for the help text
	// command builds the program's own command. It is built only in the
	// process that runs it: the Kubernetes programs share global flags and
	// feature gates, and two of them in one process would argue over them.
	command func() *cobra.Command
}

// All lists the parts in the order in which a cluster starts them.
func All() []Part {
	return []Part{
		{"etcd", "the store of the API server", newEtcd},
		{"kube-apiserver", "the Kubernetes API server", apiserver.NewAPIServerCommand},
		{"kube-scheduler", "the Kubernetes scheduler", func() *cobra.Command {
			return scheduler.NewSchedulerCommand()
		}},
		{
			"kube-controller-manager", "the Kubernetes controller manager",
			controllermanager.NewControllerManagerCommand,
		},
		{"kwok", "the hollow kubelet: heartbeats of nodes, life of pods", newKwok},
		{"awsemu", "the emulated AWS, whose instances join as nodes", newAwsemu},
	}
}

// Run executes the part with args until it ends or ctx is done.
func (p Part) Run(ctx context.Context, args []string) error {
	cmd := p.command()
	cmd.SetArgs(args)
	cmd.SilenceUsage = true
	cmd.SilenceErrors = true
	return cmd.ExecuteContext(ctx)
}
