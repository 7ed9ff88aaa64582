package archtest

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	gopackages "golang.org/x/tools/go/packages"
)

// writer is the only package that may write NodeClaims and Nodes.
const writer = "internal/act"

// mayWrite are the exceptions: trees that write Nodes and do not belong to the controllers, with the reason.
var mayWrite = map[string]string{
	writer:            "is the writer",
	"internal/awsemu": "plays the kubelet and the cloud controller of its machines, which write nodes in a real cluster",
}

func TestOneWriter(t *testing.T) {
	rule{
		must: "NodeClaims and Nodes are written by " + writer + " alone",
		why:  "it knows when a lock is needed, which delete is of which object, and what a cordon is; two writers disagree one day",
		fix: "call a function of " + writer + "; in a provider take an interface, and let the composition root hand act.Writer in." +
			" Status of pools, node classes and other kinds may be written where it is decided",
	}.report(t, directWrites(t, "./..."))
}

func TestDirectWritesSeen(t *testing.T) { seesMistakes(t, "writes", directWrites) }

// directWrites returns the calls of a client's write methods outside of package writer, for a NodeClaim, a Node, or an
// object whose kind the compiler does not know. It does not check packages that are made for tests.
func directWrites(t *testing.T, pattern string) []string {
	t.Helper()
	return inspect(t, pattern, func(p *gopackages.Package, n ast.Node) string {
		folder := listed{ImportPath: p.PkgPath}.folder()
		if call, ok := n.(*ast.CallExpr); ok && !anyWithin(folder, slices.Collect(maps.Keys(mayWrite))) {
			return directWrite(p.TypesInfo, call)
		}
		return ""
	})
}

// writeMethods are the methods of clients that write the object that they are given.
var writeMethods = []string{"Create", "Update", "Patch", "Apply", "Delete", "DeleteAllOf", "UpdateStatus", "ApplyStatus", "DeleteCollection"}

// directWrite describes what a call writes, "" if it writes neither a NodeClaim nor a Node.
func directWrite(info *types.Info, call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(writeMethods, selector.Sel.Name) {
		return ""
	}
	method, ok := info.Uses[selector.Sel].(*types.Func)
	if !ok || method.Pkg() == nil {
		return ""
	}
	switch path := method.Pkg().Path(); {
	case strings.HasPrefix(path, "k8s.io/client-go/kubernetes/typed/"):
		if receiver := info.TypeOf(selector.X).String(); strings.HasSuffix(receiver, ".NodeInterface") {
			return method.Name() + " of a Node"
		}
		return ""
	case path == "k8s.io/client-go/dynamic":
		return method.Name() + " of an object of unknown kind"
	case path != "sigs.k8s.io/controller-runtime/pkg/client" || len(call.Args) < 2:
		return ""
	}
	switch object := info.TypeOf(call.Args[1]); {
	case types.IsInterface(object):
		return method.Name() + " of an object of unknown kind"
	case isPointerTo(object, modulePath+"/api/v1", "NodeClaim"):
		return method.Name() + " of a NodeClaim"
	case isPointerTo(object, "k8s.io/api/core/v1", "Node"):
		return method.Name() + " of a Node"
	}
	return ""
}

// isPointerTo reports whether t is a pointer to the named type.
func isPointerTo(t types.Type, path, name string) bool {
	pointer, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(pointer.Elem()).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path && named.Obj().Name() == name
}
