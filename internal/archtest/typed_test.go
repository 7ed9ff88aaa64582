package archtest

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gopackages "golang.org/x/tools/go/packages"
)

// loaded returns the packages of a pattern with their types. It loads each pattern only once.
var loaded = func() func(pattern string) ([]*gopackages.Package, error) {
	var mu sync.Mutex // guards known
	known := map[string][]*gopackages.Package{}
	return func(pattern string) ([]*gopackages.Package, error) {
		mu.Lock()
		defer mu.Unlock()
		if list, ok := known[pattern]; ok {
			return list, nil
		}
		list, err := gopackages.Load(&gopackages.Config{
			Dir: root,
			Mode: gopackages.NeedName | gopackages.NeedFiles | gopackages.NeedImports | gopackages.NeedSyntax |
				gopackages.NeedTypes | gopackages.NeedTypesInfo,
		}, pattern)
		known[pattern] = list
		return list, err
	}
}()

// inspect calls check for each node of the packages that match a pattern, and returns the mistakes that it finds with
// their positions. It omits tests and packages that are made for tests.
func inspect(t *testing.T, pattern string, check func(*gopackages.Package, ast.Node) string) []string {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	list, err := loaded(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, p := range list {
		for _, e := range p.Errors {
			t.Errorf("load %s: %v", p.PkgPath, e)
		}
		if p.Imports["testing"] != nil {
			continue
		}
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				if n == nil {
					return false
				}
				if what := check(p, n); what != "" {
					at := p.Fset.Position(n.Pos())
					name, err := filepath.Rel(dir, at.Filename)
					if err != nil {
						t.Fatal(err)
					}
					places = append(places, fmt.Sprintf("%s:%d: %s", filepath.ToSlash(name), at.Line, what))
				}
				return true
			})
		}
	}
	return places
}

// seesMistakes fails the test unless the check reports exactly the mistakes in testdata/<name>. The comment "// want" in
// a line there has the expected message about that line.
func seesMistakes(t *testing.T, name string, check func(*testing.T, string) []string) {
	t.Helper()
	folder := "internal/archtest/testdata/" + name
	got := check(t, "./"+folder)
	var want []string
	for i, line := range strings.Split(string(read(t, folder+"/"+name+".go")), "\n") {
		if _, what, marked := strings.Cut(line, "// want "); marked {
			want = append(want, fmt.Sprintf("%s/%s.go:%d: %s", folder, name, i+1, what))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
