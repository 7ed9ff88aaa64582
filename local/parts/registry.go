package parts

import (
	"context"

	"github.com/spf13/cobra"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/karpenter-go/karpenter/local/cli"
	"github.com/karpenter-go/karpenter/local/clusterapi"
	"github.com/karpenter-go/karpenter/local/hollow"
)

// All lists the parts in the order of the help text.
func All() []cli.Part {
	return []cli.Part{
		part("etcd", "Run etcd, the database of the API server", newEtcd),
		part("kube-apiserver", "Run the Kubernetes API server", apiserver.NewAPIServerCommand),
		part("kube-scheduler", "Run the Kubernetes scheduler", func() *cobra.Command {
			return scheduler.NewSchedulerCommand()
		}),
		part("kube-controller-manager", "Run the Kubernetes controller manager",
			controllermanager.NewControllerManagerCommand),
		part("kwok", "Run the simulated kubelet, which updates the status of nodes and pods", hollow.Command),
		part("clusterapi", "Run Cluster API with simulated machines, which join as nodes", clusterapi.Command),
		part("awsemu", "Run the emulated AWS, whose instances join as nodes", newAwsemu),
	}
}

// part returns a Part that runs the command of a program. The command is built only when the part runs. The Kubernetes
// programs share global flags and feature gates, so a process can have only one of their commands.
func part(name, short string, command func() *cobra.Command) cli.Part {
	return cli.Part{Name: name, Short: short, Run: func(ctx context.Context, args []string) error {
		cmd := command()
		cmd.SetArgs(args)
		cmd.SilenceUsage = true
		cmd.SilenceErrors = true
		return cmd.ExecuteContext(ctx)
	}}
}
