package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// aliases are the names under which all files must import these packages.
var aliases = map[string]string{
	"k8s.io/api/core/v1":                   "corev1",
	"k8s.io/apimachinery/pkg/apis/meta/v1": "metav1",
	modulePath + "/api/v1":                 "apiv1",
	modulePath + "/api/aws/v1":             "awsv1",
	"sigs.k8s.io/controller-runtime":       "ctrl",
}

func TestImportAliases(t *testing.T) {
	rule{
		must: "packages of API versions are imported under their fixed names, never as a bare version",
		why:  "v1 could be any of six packages; one name for one thing reads the same in every file",
		fix:  "import it as the name given here, or as group and version in one word (storagev1, policyv1)",
	}.check(t, wrongAliases)
}

// bareVersion matches the name of an API version.
var bareVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// wrongAliases returns the imports of a file whose name is not the one in aliases, or is only a version.
func wrongAliases(s source) []string {
	var places []string
	for _, spec := range s.file.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := ""
		if spec.Name != nil {
			name = spec.Name.Name
		}
		want, fixed := aliases[importPath]
		group := strings.HasPrefix(importPath, "k8s.io/api/") || strings.Contains(importPath, "/apis/") ||
			strings.HasPrefix(importPath, modulePath+"/api/") // in other paths, /v2 is the major version of a module
		switch {
		case name == "_" || name == ".":
		case fixed && name != want:
			places = append(places, fmt.Sprintf("%s imports %s as %q, want %s", s.at(spec), importPath, name, want))
		case bareVersion.MatchString(name), name == "" && group && bareVersion.MatchString(path.Base(importPath)):
			places = append(places, fmt.Sprintf("%s imports %s as a bare version", s.at(spec), importPath))
		}
	}
	return places
}

func TestPackageComments(t *testing.T) {
	folders := map[string]bool{} // true if a file of the folder has a package comment
	names := map[string]string{}
	for _, s := range goSources(t) {
		if s.test() {
			continue
		}
		names[s.folder()] = s.file.Name.Name
		folders[s.folder()] = folders[s.folder()] || saysWhatItDoes(s)
	}
	var places []string
	for folder, said := range folders {
		if !said {
			places = append(places, fmt.Sprintf("%s (package %s)", folder, names[folder]))
		}
	}
	rule{
		must: `every package has a comment that begins "Package x" or, for a program, "Command x"`,
		why:  "its first sentence is what go doc, the map and every newcomer read first",
		fix:  "write a doc.go: what the package decides or does, then what it promises",
	}.report(t, places)
}

// saysWhatItDoes reports whether the file has a package comment.
func saysWhatItDoes(s source) bool {
	begin := "Package " + s.file.Name.Name + " "
	if s.file.Name.Name == "main" {
		begin = "Command "
	}
	return strings.HasPrefix(s.file.Doc.Text(), begin)
}

// maxLines is the maximum number of lines of a Go file.
const maxLines = 600

func TestFileLength(t *testing.T) {
	rule{
		must: fmt.Sprintf("a Go file has %d lines at most", maxLines),
		why:  "a file answers one question; above 400 lines it answers several",
		fix:  "split it by the questions it answers; put test data into testdata",
	}.check(t, tooLong)
}

func tooLong(s source) []string {
	if n := s.set.File(s.file.FileStart).LineCount(); n > maxLines {
		return []string{fmt.Sprintf("%s has %d lines", s.name, n)}
	}
	return nil
}

// emptyNames are names of packages and files that do not describe their contents.
var emptyNames = []string{"util", "utils", "helper", "helpers", "common", "types", "misc", "base", "manager", "shared"}

func TestNames(t *testing.T) {
	rule{
		must: "files and packages are named for the type they hold or the question they answer",
		why:  "a file named utils.go attracts unrelated code that is hard to find again",
		fix:  "find the concept and name the file after it",
	}.check(t, emptyName)
}

func emptyName(s source) []string {
	file := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.name), ".go"), "_test")
	if slices.Contains(emptyNames, file) || slices.Contains(emptyNames, s.file.Name.Name) {
		return []string{s.name}
	}
	return nil
}

// maxFunction is the maximum number of lines of a function, including its signature and closing brace.
const maxFunction = 60

func TestFunctionLength(t *testing.T) {
	rule{
		must: fmt.Sprintf("a function has %d lines at most, those of tables in it not counted", maxFunction),
		why:  "what fits on a screen can be understood at once",
		fix:  "split it where a comment would otherwise say what the next part does",
	}.check(t, longFunctions)
}

// longFunctions returns the functions of a file that are too long. It returns none for a test.
func longFunctions(s source) []string {
	if s.test() {
		return nil
	}
	var places []string
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := s.lines(f) - tableLines(s, f); n > maxFunction {
			places = append(places, fmt.Sprintf("%s: %s has %d lines", s.at(f), f.Name.Name, n))
		}
	}
	return places
}

// lines returns the number of lines of a node.
func (s source) lines(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}

// tableLines returns the number of lines of a function that are inside composite literals.
func tableLines(s source, f *ast.FuncDecl) int {
	total := 0
	ast.Inspect(f, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if ok {
			total += s.lines(table) - 1
		}
		return !ok // a literal inside this one is already counted
	})
	return total
}
