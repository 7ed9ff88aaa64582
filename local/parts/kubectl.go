package parts

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

// Kubectl runs kubectl with args and returns its exit code. Most commands of kubectl end the process if they fail. Then
// Kubectl does not return.
func Kubectl(args []string) int {
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler([]string{"kubectl"}),
		Arguments:     append([]string{"kubectl"}, args...),
		IOStreams: genericiooptions.IOStreams{
			In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr,
		},
	})
	command.SetArgs(args)
	return cli.Run(command)
}
