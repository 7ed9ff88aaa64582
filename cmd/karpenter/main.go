// Command karpenter launches nodes for pending pods and removes nodes that are not needed.
package main

import (
	"os"

	"github.com/karpenter-go/karpenter/cmd/karpenter/cli"
	"github.com/karpenter-go/karpenter/internal/operator"
)

// version and commit are set by the linker.
var version, commit = "dev", ""

func main() {
	os.Exit(cli.Run(os.Args[1:], operator.Version{Number: version, Commit: commit}))
}
