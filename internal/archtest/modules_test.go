package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program is the main package of the product.
const program = modulePath + "/cmd/karpenter"

// testModules are the modules that only tests of the product import, and what for. The program links none of them.
var testModules = map[string]string{
	"github.com/creack/pty":           "a terminal for the terminal view",
	"github.com/google/go-cmp":        "differences between values",
	"github.com/rogpeppe/go-internal": "scripts of command lines",
	"golang.org/x/tools":              "txtar, the format of scenarios",
	"pgregory.net/rapid":              "properties that hold for any input",
}

// excludedModules are modules that the main module never requires, not even indirectly.
var excludedModules = []struct {
	prefix string
	why    string
}{
	{"github.com/hashicorp/hcl", "only hack/deploy evaluates the Terraform module"},
	{"github.com/zclconf/go-cty", "only hack/deploy evaluates the Terraform module"},
	{"mvdan.cc/sh", "only hack/manual reads the shell of the manual"},
	{"github.com/jmespath/go-jmespath", "only the stand-in for the AWS command line has --query"},
	{"github.com/aws/aws-sdk-go-v2/service/autoscaling", "only the stand-in for the AWS command line calls Auto Scaling"},
	{"github.com/aws/aws-sdk-go-v2/service/cloudformation", "only the stand-in for the AWS command line calls CloudFormation"},
	{"golang.org/x/crypto/x509roots", "only hack/image packs certificates"},
	{modulePath, "hack, local and bench import the product, and the product imports none of them"},
}

// A requirement is one line of the require directives of a go.mod file.
type requirement struct {
	module   string
	indirect bool
}

// requirementLine matches a line of a require directive as the go command formats it.
var requirementLine = regexp.MustCompile(`(?m)^(?:require |\t)(\S+) v\S+( // indirect)?$`)

// requirementsOf returns the requirements of a go.mod file in its order.
func requirementsOf(file []byte) []requirement {
	var out []requirement
	for _, m := range requirementLine.FindAllSubmatch(file, -1) {
		out = append(out, requirement{string(m[1]), len(m[2]) > 0})
	}
	return out
}

// The go.mod file of the product lists what the program links and what its tests import.
func TestDependenciesOfTheProduct(t *testing.T) {
	requirements := requirementsOf(read(t, "go.mod"))
	if len(requirements) < 30 {
		t.Fatalf("read only %d requirements; the test cannot read go.mod", len(requirements))
	}
	linked := reached(packages(t), program)
	rule{
		must: "a module that go.mod requires directly is linked into cmd/karpenter, or is one of testModules",
		why:  "users and auditors of the product take go.mod for the list of what it is made of",
		fix:  "move the code that imports it to hack/, local/ or bench/; for a new testing library add a line to testModules with its reason",
	}.report(t, unneeded(requirements, linked))
	rule{
		must: "the program links no module of testModules",
		why:  "testing libraries have no place in what runs in a cluster",
		fix:  "import it in _test.go files or in packages for tests only",
	}.report(t, slices.DeleteFunc(slices.Clone(linked), func(imported string) bool { return !isOfTests(imported) }))
	for _, b := range excludedModules {
		rule{
			must: "go.mod does not require " + b.prefix,
			why:  b.why,
			fix:  "move the code that imports it to hack/, and run go mod tidy",
		}.report(t, requiredBelow(requirements, b.prefix))
	}
}

// reached returns the import paths of all packages that a package imports, directly or through others.
func reached(g map[string]listed, from string) []string {
	seen := map[string]bool{from: true}
	all := []string{from}
	for i := 0; i < len(all); i++ {
		for _, next := range g[all[i]].Imports {
			if !seen[next] {
				seen[next] = true
				all = append(all, next)
			}
		}
	}
	return all
}

// unneeded returns the modules that are required directly although no linked package belongs to them and no test imports
// them.
func unneeded(requirements []requirement, linked []string) []string {
	var places []string
	for _, r := range requirements {
		_, forTests := testModules[r.module]
		isLinked := slices.ContainsFunc(linked, func(imported string) bool { return within(imported, r.module) })
		if !r.indirect && !forTests && !isLinked {
			places = append(places, "go.mod requires "+r.module)
		}
	}
	return places
}

// isOfTests reports whether an import path belongs to one of testModules.
func isOfTests(imported string) bool {
	for module := range testModules {
		if within(imported, module) {
			return true
		}
	}
	return false
}

// requiredBelow returns the required modules whose path is prefix or below it.
func requiredBelow(requirements []requirement, prefix string) []string {
	var places []string
	for _, r := range requirements {
		if within(r.module, prefix) {
			places = append(places, "go.mod requires "+r.module)
		}
	}
	return places
}

// The checks find modules that should not be required, and pass those that should.
func TestDependencyChecksSeeMistakes(t *testing.T) {
	requirements := requirementsOf([]byte(strings.Join([]string{
		"module example.com/product", "", "go 1.26.0", "", "require example.com/single v1.0.0", "", "require (",
		"\texample.com/linked/v2 v2.0.0", "\texample.com/unused v0.1.0", "\tpgregory.net/rapid v1.3.0", ")", "", "require (",
		"\texample.com/far v0.0.0-20260101000000-000000000000 // indirect", "\tgithub.com/hashicorp/hcl/v2 v2.25.0 // indirect", ")", "",
		"replace example.com/far => ../far", "",
	}, "\n")))
	want := []requirement{
		{"example.com/single", false}, {"example.com/linked/v2", false}, {"example.com/unused", false}, {"pgregory.net/rapid", false},
		{"example.com/far", true}, {"github.com/hashicorp/hcl/v2", true},
	}
	if diff := cmp.Diff(want, requirements, cmp.AllowUnexported(requirement{})); diff != "" {
		t.Errorf("requirements (-want +got):\n%s", diff)
	}
	g := map[string]listed{
		"main": {Imports: []string{"a"}}, "a": {Imports: []string{"example.com/linked/v2/x", "main"}}, "b": {Imports: []string{"example.com/unused"}},
	}
	linked := reached(g, "main")
	if diff := cmp.Diff([]string{"main", "a", "example.com/linked/v2/x"}, linked); diff != "" {
		t.Errorf("linked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"go.mod requires example.com/single", "go.mod requires example.com/unused"}, unneeded(requirements, linked)); diff != "" {
		t.Errorf("unneeded (-want +got):\n%s", diff)
	}
	if got := requiredBelow(requirements, "github.com/hashicorp/hcl"); len(got) != 1 {
		t.Errorf("below hcl: %q", got)
	}
	if !isOfTests("golang.org/x/tools/txtar") || isOfTests("golang.org/x/toolsmith") {
		t.Error("modules of tests are told by a part of their name")
	}
}
