// Command karpenter-local runs a Kubernetes cluster for Karpenter on this machine: a real control plane, hollow nodes,
// and an emulated AWS. Package cli has the commands, and package parts the programs of the cluster.
package main

import (
	"os"

	"github.com/karpenter-go/karpenter/local/cli"
	"github.com/karpenter-go/karpenter/local/parts"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], cli.Programs{Parts: parts.All(), Kubectl: parts.Kubectl}))
}
