package archtest

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"

	gopackages "golang.org/x/tools/go/packages"
)

// deciders are the controllers that make decisions about the whole cluster.
var deciders = []string{"internal/controller/provision", "internal/controller/disruption", "internal/controller/stagedmove"}

func TestOneReader(t *testing.T) {
	rule{
		must: strings.Join(deciders, ", ") + " read the cluster through observe",
		why:  "observe knows what was written a moment ago; a cache does not, and a decision on it is made twice",
		fix:  "decide on Cluster.Snapshot; what a snapshot lacks is added by internal/observe/inputs",
	}.report(t, directReads(t, "./internal/controller/...", deciders))
}

func TestDirectReadsSeen(t *testing.T) {
	seesMistakes(t, "reads", func(t *testing.T, pattern string) []string {
		return directReads(t, pattern, []string{"internal/archtest/testdata/reads"})
	})
}

// directReads returns the lines where packages in the folders read with a client.
func directReads(t *testing.T, pattern string, folders []string) []string {
	t.Helper()
	return inspect(t, pattern, func(p *gopackages.Package, n ast.Node) string {
		call, ok := n.(*ast.CallExpr)
		if !ok || !anyWithin(listed{ImportPath: p.PkgPath}.folder(), folders) {
			return ""
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Get", "List", "Watch"}, selector.Sel.Name) {
			return ""
		}
		method, ok := p.TypesInfo.Uses[selector.Sel].(*types.Func)
		if !ok || method.Pkg() == nil || method.Pkg().Path() != "sigs.k8s.io/controller-runtime/pkg/client" {
			return ""
		}
		return method.Name() + " of a client"
	})
}
