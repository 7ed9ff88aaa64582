// Command karpenter launches the nodes that pending pods need and ends those that nothing needs any more.
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
