package mutant

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	root   = "../../.."
	module = "github.com/karpenter-go/karpenter"
)

// The edits of each mutant apply, and the changed packages compile.
func TestMutantsApply(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("%d mutants, want 20", len(all))
	}
	c := newChecker(t, all)
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			changed, err := m.Apply(root)
			if err != nil {
				t.Fatal(err)
			}
			folders := map[string]bool{}
			for name := range changed {
				folders[path.Dir(name)] = true
			}
			for folder := range folders {
				if err := c.check(folder, changed); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Apply returns an error for an edit whose old text does not occur in the file, or occurs twice.
func TestRottenMutants(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nvar x, y = 1, 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, want string }{
		{"var z", "0 times"}, {"1", "2 times"}, {"var x", ""},
	} {
		m, err := Parse("m", []byte("Prose.\n-- a.go --\n"+tt.old+"\n-- becomes --\nvar w\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Apply(dir)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: error %v, want %q", tt.old, err, tt.want)
		}
	}
}

// A checker checks the types of packages whose imports are compiled.
type checker struct {
	fset    *token.FileSet
	imports types.Importer
}

// newChecker lists the packages that the changed packages import, and the export data files of the compiler for them.
func newChecker(t *testing.T, all []Mutant) *checker {
	packages := map[string]bool{}
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, m := range all {
		for _, e := range m.Edits {
			if dir := path.Dir(e.Path); !packages[dir] {
				packages[dir] = true
				args = append(args, module+"/"+dir)
			}
		}
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if name, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			exports[name] = file
		}
	}
	c := &checker{fset: token.NewFileSet()}
	c.imports = importer.ForCompiler(c.fset, "gc", func(name string) (io.ReadCloser, error) {
		if exports[name] == "" {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(exports[name])
	})
	return c
}

// check checks the types of a package with changed files.
func (c *checker) check(folder string, changed map[string][]byte) error {
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		var source any
		if data, ok := changed[path.Join(folder, filepath.Base(name))]; ok {
			source = data
		}
		f, err := parser.ParseFile(c.fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	_, err = (&types.Config{Importer: c.imports}).Check(module+"/"+folder, c.fset, files, nil)
	return err
}

// A folder of mutants is read in the order of names. A folder without mutants, and a file that is none, are errors that name the problem.
func TestIn(t *testing.T) {
	const good = "A defect.\n\n-- a.go --\nold\n-- becomes --\nnew\n"
	got, err := In(fstest.MapFS{"b.txtar": {Data: []byte(good)}, "a.txtar": {Data: []byte(good)}, "README": {Data: []byte("prose")}})
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" || got[0].Edits[0].New != "new" {
		t.Errorf("%v, %v", got, err)
	}
	for want, folder := range map[string]fstest.MapFS{
		"no file *.txtar": {"README": {}}, "mutant bad: want prose": {"bad.txtar": {Data: []byte("-- a.go --\nold\n")}},
	} {
		if _, err := In(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
