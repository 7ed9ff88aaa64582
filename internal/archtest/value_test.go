package archtest

import (
	"fmt"
	"go/ast"
	"go/types"
	"testing"

	gopackages "golang.org/x/tools/go/packages"
)

func TestNoInit(t *testing.T) {
	rule{
		must: "no package has an init function",
		why:  "what is linked in would change what the program does, unseen at the composition root",
		fix:  "return a value from a function, and call it where it is needed",
	}.check(t, initFunctions)
}

// initFunctions returns the init functions of a file of the product.
func initFunctions(s source) []string {
	if !s.in("api", "cloud", "engine", "provider", "internal", "cmd") {
		return nil
	}
	var places []string
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			places = append(places, s.at(f)+" has an init function")
		}
	}
	return places
}

func TestNoChangingGlobals(t *testing.T) {
	rule{
		must: "no global changes",
		why:  "a provider is a value: two of them, or two tests, must not meet in a variable of a package",
		fix:  "make it a field of the value that needs it, and hand it in",
	}.report(t, changedGlobals(t, "./..."))
}

func TestChangedGlobalsSeen(t *testing.T) { seesMistakes(t, "globals", changedGlobals) }

// changedGlobals returns where variables of a package, or elements of their maps and slices, are assigned.
func changedGlobals(t *testing.T, pattern string) []string {
	t.Helper()
	return inspect(t, pattern, func(p *gopackages.Package, n ast.Node) string {
		folder := listed{ImportPath: p.PkgPath}.folder()
		if !anyWithin(folder, []string{"api", "cloud", "engine", "provider", "internal", "cmd"}) || within(folder, "cloud/proto") {
			return "" // what protoc-gen-go writes fills its descriptors when the program starts
		}
		var targets []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			targets = n.Lhs
		case *ast.IncDecStmt:
			targets = []ast.Expr{n.X}
		}
		for _, target := range targets {
			if name := global(p.TypesInfo, target); name != "" {
				return fmt.Sprintf("changes %s", name)
			}
		}
		return ""
	})
}

// global returns the name of the package's variable that an assignment to e changes, "" if it changes none.
func global(info *types.Info, e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
			continue
		case *ast.StarExpr:
			e = x.X
			continue
		case *ast.ParenExpr:
			e = x.X
			continue
		case *ast.SelectorExpr:
			if v, ok := info.Uses[x.Sel].(*types.Var); ok && v.IsField() {
				e = x.X
				continue
			}
			e = x.Sel
			continue
		case *ast.Ident:
			if v, ok := info.Uses[x].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				return v.Name()
			}
		}
		return ""
	}
}

// maxMethods is the most methods of an interface outside package cloud.
const maxMethods = 5

func TestSmallInterfaces(t *testing.T) {
	rule{
		must: fmt.Sprintf("an interface has %d methods at most; that of a cloud is the exception", maxMethods),
		why:  "an interface says what its user needs, and a test has to bring all of it",
		fix:  "declare beside the user what the user calls, and no more",
	}.check(t, largeInterfaces)
}

// largeInterfaces returns the interfaces of a file that have too many methods of their own.
func largeInterfaces(s source) []string {
	if s.test() || s.folder() == "cloud" {
		return nil
	}
	var places []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if i, ok := n.(*ast.InterfaceType); ok {
			methods := 0
			for _, m := range i.Methods.List {
				methods += len(m.Names) // embedded interfaces and unions have no names
			}
			if methods > maxMethods {
				places = append(places, fmt.Sprintf("%s: an interface with %d methods", s.at(n), methods))
			}
		}
		return true
	})
	return places
}
