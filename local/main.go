// Command karpenter-local runs a Kubernetes cluster on this machine, for
// Karpenter: real control plane, hollow nodes, an emulated AWS. Package cli
// has the commands, package parts the programs inside.
package main

import (
	"os"

	"github.com/karpenter-go/karpenter/local/cli"
	"github.com/karpenter-go/karpenter/local/parts"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], cli.Programs{Parts: parts.All(), Kubectl: parts.Kubectl}))
}
