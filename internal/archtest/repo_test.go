package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/karpenter-go/karpenter"

// root is the root of the checkout, relative to the folder of this package, in which its tests run.
const root = "../.."

// tracked lists the files under version control by their slash-separated paths from root. It omits links, and files
// that are deleted and not yet committed. Without git (an unpacked archive) it lists all files.
var tracked = sync.OnceValues(func() ([]string, error) {
	// go test caches the result of a test by the files that the test reads, but does not know the files that git reads.
	// git changes the index with every file that is added, so the test reads the index.
	_, _ = os.Stat(filepath.Join(root, ".git", "index"))
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return walk()
	}
	var files []string
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if info, err := os.Lstat(filepath.Join(root, string(name))); err == nil && info.Mode().IsRegular() {
			files = append(files, string(name))
		}
	}
	return files, nil
})

func walk() (files []string, err error) {
	err = filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"node_modules", "bin", ".local", ".git"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return files, err
}

// filesOf returns the tracked files for which keep is true.
func filesOf(t *testing.T, keep func(name string) bool) []string {
	t.Helper()
	all, err := tracked()
	if err != nil {
		t.Fatalf("list files: %v", err)
	}
	var files []string
	for _, name := range all {
		if keep(name) {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		t.Fatal("found no file to check; the test looks in the wrong place")
	}
	return files
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A source is one parsed Go file.
type source struct {
	name string // path from root
	set  *token.FileSet
	file *ast.File
}

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

// folder returns the path of the package from root.
func (s source) folder() string { return path.Dir(s.name) }

// at returns the position of a node as file:line.
func (s source) at(n ast.Node) string {
	p := s.set.Position(n.Pos())
	return p.String()
}

// in reports whether the file is in one of the trees.
func (s source) in(trees ...string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return within(s.folder(), tree) })
}

// within reports whether folder is tree or below it.
func within(folder, tree string) bool {
	return folder == tree || strings.HasPrefix(folder, tree+"/")
}

// parseSource parses the text of the file with this name.
func parseSource(name string, text []byte) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{name: name, set: set, file: file}, err
}

// goSources parses all Go files of all modules, except generated ones. It omits files that cannot be parsed, because the
// compiler reports them.
func goSources(t *testing.T) []source {
	t.Helper()
	var sources []source
	for _, name := range filesOf(t, isGo) {
		s, err := parseSource(name, read(t, name))
		if err != nil {
			t.Logf("skipped: %v", err)
			continue
		}
		if !ast.IsGenerated(s.file) {
			sources = append(sources, s)
		}
	}
	return sources
}

// isGo reports whether name is a Go file that the go command builds. It excludes testdata and vendored web assets.
func isGo(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.Contains("/"+name, "/testdata/") &&
		!strings.Contains("/"+name, "/node_modules/")
}

// check calls find for all sources, and reports the places that it returns.
func (r rule) check(t *testing.T, find func(source) []string) {
	t.Helper()
	var places []string
	for _, s := range goSources(t) {
		places = append(places, find(s)...)
	}
	r.report(t, places)
}
