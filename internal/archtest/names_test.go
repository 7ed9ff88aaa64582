package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"testing"
)

// Controllers of several providers run in one process, in which names of controllers are unique.
func TestControllersHaveNamesOfTheirOwn(t *testing.T) {
	named := map[string][]string{} // positions of methods Name that return the same text
	for _, s := range goSources(t) {
		if !s.test() && s.in("provider", "internal/controller") {
			for text, at := range controllerNames(s) {
				named[text] = append(named[text], at)
			}
		}
	}
	if len(named) < 20 {
		t.Fatalf("found only %d names; the test looks in the wrong place", len(named))
	}
	var places []string
	for text, at := range named {
		if len(at) > 1 {
			places = append(places, fmt.Sprintf("%q is the name in %v", text, at))
		}
	}
	rule{
		must: "no two controllers have the same name",
		why:  "the program ends at its start if it runs both, as with several providers",
		fix:  "add the name of the provider or of the kind",
	}.report(t, places)
}

// controllerNames returns the constants that methods Name of a file return, with their positions, for types of the same file that
// have a method Register or Receive: controllers, and sources of notices, which become controllers.
func controllerNames(s source) map[string]string {
	controllers := map[string]bool{}
	names := map[string]string{} // by receiver
	at := map[string]string{}
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Body == nil {
			continue
		}
		receiver := receiverName(f)
		switch f.Name.Name {
		case "Register", "Receive":
			controllers[receiver] = true
		case "Name":
			if text, ok := returned(f); ok {
				names[receiver], at[receiver] = text, s.at(f)
			}
		}
	}
	out := map[string]string{}
	for receiver, text := range names {
		if controllers[receiver] {
			out[text] = at[receiver]
		}
	}
	return out
}

// receiverName returns the name of the type of the method.
func receiverName(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// returned returns the text that the only statement of the function returns.
func returned(f *ast.FuncDecl) (string, bool) {
	if len(f.Body.List) != 1 {
		return "", false
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return "", false
	}
	literal, ok := r.Results[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

func TestControllerNamesSeen(t *testing.T) {
	s, err := parseSource("provider/a/a.go", []byte(`package a
type A struct{}
func (A) Name() string { return "one" }
func (*A) Register() {}
type B struct{}
func (B) Name() string { return "two" }
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := controllerNames(s); len(got) != 1 || got["one"] == "" {
		t.Errorf("names are %v, want that of the controller alone", got)
	}
}
