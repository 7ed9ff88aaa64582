package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"testing"
)

// solver are the trees whose types may have methods that change them. Their values exist only during one call
// of pack.Solve.
var solver = []string{"engine/pack", "engine/binpack"}

// withinCall are further types with methods that change them. Their values exist only during one decision.
var withinCall = map[string]bool{
	"topology.Book":      true, // numbers the selectors of one plan
	"buffer.Quotas":      true, // counts the capacity that one decision gives to buffers
	"nodematch.Index":    true, // has the label sets and selectors of one check
	"nodematch.LabelSet": true, // records which selectors of one check match it
	"podtopology.Rules":  true, // has the rules of the pods of one check
	"budget.NodePools":   true, // counts the nodes that one decision disrupts
	"budget.PDBs":        true, // counts the pods that one decision evicts
	"problem.State":      true, // has what one decision has accepted so far
	"problem.Stats":      true, // has what one decision has counted
}

func TestEngineKeepsNoState(t *testing.T) {
	rule{
		must: "no exported method of the engine changes its receiver, and no variable or field of the engine lives longer than a call",
		why:  "a decision is a function of its input: what it remembers comes in as a value and goes out as one",
		fix: "take the state as an argument and return the next one, as launchbackoff.State and disrupt.Cursor do;" +
			" a type that is made and dropped within one decision goes into withinCall in internal/archtest",
	}.check(t, keptState)
}

// keptState returns the places where a file of the engine could keep state between calls: exported methods that assign to
// fields of their receiver, assignments to package variables, and types of package sync outside functions.
func keptState(s source) []string {
	if s.test() || !s.in("engine") || s.in("engine/scenario") {
		return nil
	}
	var places []string
	globals := map[string]bool{}
	locks := importedAs(s, "sync")
	for _, d := range s.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && g.Tok == token.VAR {
				for _, name := range v.Names {
					globals[name.Name] = true
				}
			}
		}
		ast.Inspect(g, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && locks != "" && isIdent(sel.X, locks) {
				places = append(places, s.at(n)+" keeps a sync."+sel.Sel.Name)
			}
			return true
		})
	}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			places = append(places, assignments(s, f, globals)...)
		}
	}
	return places
}

// assignments returns the places where f assigns to one of the variables or, if f is an exported method, to a field of
// its receiver.
func assignments(s source, f *ast.FuncDecl, globals map[string]bool) []string {
	receiver := ""
	if f.Recv != nil && f.Name.IsExported() && !s.in(solver...) && len(f.Recv.List[0].Names) > 0 {
		if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
			if id, ok := star.X.(*ast.Ident); ok && id.IsExported() && !withinCall[s.file.Name.Name+"."+id.Name] {
				receiver = f.Recv.List[0].Names[0].Name
			}
		}
	}
	locals := localNames(f)
	var places []string
	target := func(n ast.Node, x ast.Expr) {
		root, field := rootOf(x)
		switch {
		case root == nil, root.Name == "_":
		case root.Name == receiver && field:
			places = append(places, fmt.Sprintf("%s: method %s changes its receiver", s.at(n), f.Name.Name))
		case globals[root.Name] && !locals[root.Name]:
			places = append(places, fmt.Sprintf("%s changes the variable %s of the package", s.at(n), root.Name))
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, x := range n.Lhs {
					target(n, x)
				}
			}
		case *ast.IncDecStmt:
			target(n, n.X)
		}
		return true
	})
	return places
}

// localNames returns the names of the parameters and variables that f declares anywhere.
func localNames(f *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names[id.Name] = true
				}
			}
		}
		return true
	})
	return names
}

// rootOf returns the variable at the start of the expression x. field is true if x is a field or an element
// of that variable, or what it points to.
func rootOf(x ast.Expr) (root *ast.Ident, field bool) {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e, field
		case *ast.SelectorExpr:
			x, field = e.X, true
		case *ast.IndexExpr:
			x, field = e.X, true
		case *ast.StarExpr:
			x, field = e.X, true
		case *ast.ParenExpr:
			x = e.X
		default:
			return nil, false
		}
	}
}

func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
