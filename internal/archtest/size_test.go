package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
	"testing"
)

// The maximum sizes of types in the engine. Distributing a type over more files does not reduce them.
const (
	maxTypeFields   = 15
	maxTypeMethods  = 30
	maxPackageLines = 3000
)

func TestEngineSizes(t *testing.T) {
	fields, methods, lines := map[string]int{}, map[string]int{}, map[string]int{}
	embeds := map[string][]string{}
	for _, s := range goSources(t) {
		if s.test() || !s.in("engine") {
			continue
		}
		folder := path.Dir(s.name)
		lines[folder] += s.set.File(s.file.Pos()).LineCount()
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if receiver := receiverOf(d); receiver != "" {
					methods[folder+"."+receiver]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						n, embedded := fieldsOf(ts)
						fields[folder+"."+ts.Name.Name], embeds[folder+"."+ts.Name.Name] = n, embedded
					}
				}
			}
		}
	}
	report := func(what string, n, most int) {
		if n > most {
			t.Errorf("%s: %d, at most %d\n\tfix: find the parts: which phase owns which field, and which may write it", what, n, most)
		}
	}
	for name, n := range fields {
		report(name+" fields", n, maxTypeFields)
	}
	for name := range fields {
		n := methods[name]
		for _, e := range embeds[name] {
			n += methods[strings.TrimSuffix(name, typeOf(name))+e]
		}
		report(name+" methods", n, maxTypeMethods)
	}
	for name, n := range lines {
		report("package "+name+" lines", n, maxPackageLines)
	}
}

// typeOf returns the name of the type in a text of the form folder.Type.
func typeOf(name string) string { return path.Ext(name)[1:] }

// receiverOf returns the type of a method's receiver, empty for a function.
func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	x := f.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if g, ok := x.(*ast.IndexExpr); ok {
		x = g.X
	}
	return fmt.Sprint(x)
}

// fieldsOf returns the number of fields of a struct, and the types of its own package that it embeds.
func fieldsOf(t *ast.TypeSpec) (n int, embedded []string) {
	st, ok := t.Type.(*ast.StructType)
	if !ok {
		return 0, nil
	}
	for _, f := range st.Fields.List {
		n += max(1, len(f.Names))
		if len(f.Names) == 0 {
			x := f.Type
			if star, ok := x.(*ast.StarExpr); ok {
				x = star.X
			}
			if id, ok := x.(*ast.Ident); ok {
				embedded = append(embedded, id.Name)
			}
		}
	}
	return n, embedded
}
