package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
	"github.com/karpenter-go/karpenter/provider/kwok"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// here has the names in this project's code by section, with their columns in the format of hack/upstream/names.txt.
// Sections whose columns cannot be derived from the code, such as annotations, have no columns.
type here map[string]map[string][]string

// whatIsHere returns the names in the code below root.
func whatIsHere(root string) (here, error) {
	h := here{"metrics": {}, "events": {}, "flags": {}, "gates": {}, "gates of AWS": {}}
	ofProviders, err := providerMetrics(filepath.Join(root, "provider"))
	if err != nil {
		return nil, err
	}
	h.addMetrics(ofProviders)
	for _, r := range telemetry.Reasons() {
		h["events"][r.Name] = []string{r.Type, strings.ReplaceAll(r.Objects, ",", "")}
	}
	h.addFlags()
	h.addGates("gates", reflect.ValueOf(settings.DefaultFeatureGates()))
	h.addGates("gates of AWS", reflect.ValueOf(aws.FeatureGates{}))
	if h["chart"], err = chartValues(filepath.Join(root, "charts/karpenter/values.yaml")); err != nil {
		return nil, err
	}
	if h["controllers"], err = controllerNames(root); err != nil {
		return nil, err
	}
	used, err := usedNames(root)
	if err != nil {
		return nil, err
	}
	for _, section := range []string{"conditions", "annotations", "labels", "taints", "finalizers"} {
		h[section] = used
	}
	return h, nil
}

// addGates adds the fields of a struct of gates with their defaults.
func (h here) addGates(section string, gates reflect.Value) {
	for i := range gates.NumField() {
		h[section][gates.Type().Field(i).Name] = []string{fmt.Sprint(gates.Field(i).Bool())}
	}
}

// wellKnownLabels are the labels of nodes under the AWS provider, as labels of metrics.
func wellKnownLabels() []string {
	return apiv1.CoreLabels().With(awsv1.Labels()).WellKnown.UnsortedList()
}

func (h here) addMetrics(ofProviders []telemetry.Declaration) {
	core := telemetry.NewMetrics(prometheus.NewRegistry(), nil)
	conditions := telemetry.NewConditionMetrics(prometheus.NewRegistry(), "KIND")
	for _, d := range slices.Concat(core.Declared(), conditions.Declared(), ofProviders) {
		labels := strings.Join(d.Labels, " ")
		labels = strings.Replace(labels, "node_name phase managed", "NODE", 1)
		h["metrics"][d.Name] = []string{d.Type, sortedWords(labels)}
	}
}

func (h here) addFlags() {
	sets := pflag.NewFlagSet("names", pflag.ContinueOnError)
	for _, add := range []func(*pflag.FlagSet){
		func(f *pflag.FlagSet) { settings.AddFlags(f) }, func(f *pflag.FlagSet) { aws.AddFlags(f) }, func(f *pflag.FlagSet) { kwok.AddFlags(f) },
		func(f *pflag.FlagSet) { clusterapi.AddFlags(f) },
		func(f *pflag.FlagSet) { remote.AddFlags(f) },
	} {
		one := pflag.NewFlagSet("names", pflag.ContinueOnError)
		add(one)
		sets.AddFlagSet(one)
	}
	sets.VisitAll(func(f *pflag.Flag) {
		_, variable := splitUsage(f.Usage)
		h["flags"][f.Name] = []string{variable, f.DefValue}
	})
}

// chartValues returns the values of the chart by their path, each with its default, or "-" if it is not a scalar.
func chartValues(path string) (map[string][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read values: %w", err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("parse values: %w", err)
	}
	out := map[string][]string{}
	flatten("", values, out)
	return out, nil
}

func flatten(prefix string, v any, out map[string][]string) {
	if prefix != "" {
		switch v := v.(type) {
		case map[string]any, []any:
			out[prefix] = []string{"-"}
		case nil:
			out[prefix] = []string{"null"}
		default:
			out[prefix] = []string{fmt.Sprint(v)}
		}
	}
	if m, ok := v.(map[string]any); ok {
		for key, value := range m {
			flatten(strings.TrimPrefix(prefix+"."+key, "."), value, out)
		}
	}
}

// usedNames returns the values of the API's string constants that code outside the API uses, and the names in string
// literals of that code.
func usedNames(root string) (map[string][]string, error) {
	c := constants{"PodDeletionCost": corev1.PodDeletionCost}
	specs := map[string][]*ast.ValueSpec{} // by folder
	set := token.NewFileSet()
	err := goFiles(filepath.Join(root, "api"), func(path string) error {
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		folder, _ := filepath.Rel(filepath.Join(root, "api"), filepath.Dir(path))
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				specs[folder] = append(specs[folder], v)
			}
			return true
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for range 3 { // values of constants may depend on other constants
		for folder, list := range specs {
			c.resolve(folder, list)
		}
	}
	used, selected, err := namesInCode(root)
	for key, value := range c {
		if selected[key[strings.LastIndex(key, ".")+1:]] {
			used[value] = nil
		}
	}
	return used, err
}

// constants are values of string constants, by folder below api and identifier.
type constants map[string]string

func (c constants) resolve(folder string, list []*ast.ValueSpec) {
	for _, v := range list {
		for i, name := range v.Names {
			if text, ok := c.text(folder, v.Values[i]); ok {
				c[folder+"."+name.Name] = text
			}
		}
	}
}

// importedAs maps import names of API packages to their folders.
var importedAs = map[string]string{"apiv1": "v1", "awsv1": "aws/v1"}

// text returns the value of a string expression of literals and known constants.
func (c constants) text(folder string, e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.Ident:
		text, ok := c[folder+"."+e.Name]
		return text, ok
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		if !ok {
			return "", false
		}
		text, ok := c[importedAs[pkg.Name]+"."+e.Sel.Name]
		return text, ok
	case *ast.BinaryExpr:
		left, okLeft := c.text(folder, e.X)
		right, okRight := c.text(folder, e.Y)
		return left + right, okLeft && okRight
	}
	text, err := literal(e)
	return text, err == nil
}

var (
	selector = regexp.MustCompile(`\.([A-Z]\w+)`)
	written  = regexp.MustCompile(`"([a-z0-9.-]+/[a-z0-9-]+)"`)
)

// namesInCode returns the names of the form domain/name in string literals of the code in cmd, internal, provider and
// engine, and the exported identifiers that it uses.
func namesInCode(root string) (names map[string][]string, selected map[string]bool, err error) {
	names, selected = map[string][]string{}, map[string]bool{}
	for _, dir := range []string{"cmd", "internal", "provider", "engine"} {
		err := goFiles(filepath.Join(root, dir), func(path string) error {
			text, err := os.ReadFile(path)
			for _, m := range selector.FindAllSubmatch(text, -1) {
				selected[string(m[1])] = true
			}
			for _, m := range written.FindAllSubmatch(text, -1) {
				names[string(m[1])] = nil
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return names, selected, nil
}

// goFiles calls f for the Go files below dir, except tests. A missing folder is not an error.
func goFiles(dir string, f func(path string) error) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		return f(path)
	})
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// sortedWords sorts the words of a text.
func sortedWords(text string) string {
	words := strings.Fields(text)
	slices.SortFunc(words, cmp.Compare)
	return strings.Join(words, " ")
}

// plainDuration returns a duration in the format of Go, so that 1m and 1m0s are equal. It returns other text
// unchanged.
func plainDuration(text string) string {
	if d, err := time.ParseDuration(text); err == nil && text != "0" {
		return d.String()
	}
	return text
}
