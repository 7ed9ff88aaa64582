package archtest

import (
	"go/ast"
	"strings"
	"testing"

	gopackages "golang.org/x/tools/go/packages"
)

func TestErrorsNameKinds(t *testing.T) {
	rule{
		must: "the text of an error has no type of Go, such as *v1.PodList",
		why:  "users read errors in conditions, logs and the terminal, and know kinds of the API",
		fix:  "name an object by api.Kind and its name",
	}.report(t, goTypes(t, "./..."))
}

func TestGoTypesSeen(t *testing.T) { seesMistakes(t, "kinds", goTypes) }

// goTypes returns the calls of fmt.Errorf whose format has the verb %T. The simulation is a test, whose reader knows the code.
func goTypes(t *testing.T, pattern string) []string {
	t.Helper()
	return inspect(t, pattern, func(p *gopackages.Package, n ast.Node) string {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 || strings.HasPrefix(p.PkgPath, modulePath+"/internal/sim") {
			return ""
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if ok && f.Sel.Name == "Errorf" && isIdent(f.X, "fmt") && strings.Contains(constantText(p.TypesInfo, call.Args[0]), "%T") {
			return "%T in the text of an error"
		}
		return ""
	})
}
