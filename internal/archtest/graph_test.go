package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A listed is the output of go list for one package.
type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

// folder returns the path of the package relative to root, "" for a package of another module.
func (p listed) folder() string {
	folder, ours := strings.CutPrefix(p.ImportPath, modulePath+"/")
	if !ours {
		return ""
	}
	return folder
}

// forTests reports whether the package is a helper for tests: its own code, and not only its tests, imports
// testing.
func (p listed) forTests() bool { return slices.Contains(p.Imports, "testing") }

// graph has every package that the root module and the module hack build, without tests, by import path. If a package
// does not compile, it has the imports that can be read.
var graph = sync.OnceValues(func() (map[string]listed, error) {
	packages := map[string]listed{}
	for _, module := range []string{".", "hack"} {
		if err := list(filepath.Join(root, module), packages); err != nil {
			return nil, err
		}
	}
	return packages, nil
})

// list adds the packages that the module in dir builds to packages.
func list(dir string, packages map[string]listed) error {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports,Standard", "./...")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for decoder := json.NewDecoder(out); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, cmd.Wait())
		}
		packages[p.ImportPath] = p
	}
	return cmd.Wait()
}

func packages(t *testing.T) map[string]listed {
	t.Helper()
	g, err := graph()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	if len(g) < 100 {
		t.Fatalf("found only %d packages; the test looks in the wrong place", len(g))
	}
	return g
}

// chain returns the shortest chain of imports from one package to one whose path begins with prefix, "" if there is
// none.
func chain(g map[string]listed, from, prefix string) string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g[queue[0]].Imports {
			if _, seen := before[next]; seen {
				continue
			}
			before[next] = queue[0]
			if next != prefix && !strings.HasPrefix(next, prefix+"/") {
				queue = append(queue, next)
				continue
			}
			way := []string{next}
			for p := queue[0]; p != ""; p = before[p] {
				way = append(way, p)
			}
			slices.Reverse(way)
			return strings.ReplaceAll(strings.Join(way, " -> "), modulePath+"/", "")
		}
	}
	return ""
}
