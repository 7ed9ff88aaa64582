package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// read reads the files of a txtar archive as those of a directory, and the file "stdin" as standard input.
func read(t *testing.T, archive string, legacy Legacy) (*Set, error) {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	o := Options{Legacy: legacy}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if f.Name == "stdin" {
			o.Stdin = strings.NewReader(string(f.Data))
			paths = append(paths, Stdin)
			continue
		}
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		if first, _, nested := strings.Cut(f.Name, "/"); nested {
			name = filepath.Join(dir, first)
		}
		if len(paths) == 0 || paths[len(paths)-1] != name {
			paths = append(paths, name)
		}
	}
	set, err := Read(t.Context(), paths, o)
	if set != nil {
		for i, w := range set.Warnings {
			set.Warnings[i] = strings.ReplaceAll(w, dir+"/", "")
		}
	}
	return set, err
}

// titles returns the namespaces and names of the objects that were read.
func titles(s *Set) (out []string) {
	for _, o := range s.objects {
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(o.GetNamespace()+"/", "/")+o.GetName(), "default/"))
	}
	return out
}

const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}`

func TestForms(t *testing.T) {
	for _, tt := range []struct {
		name, archive string
		want          []string
		warning       string // contained in the only warning; empty for none
	}{
		{"YAML documents", "-- a.yaml --\n# only a comment\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: a}\n--- # more\n" +
			"kind: Node\napiVersion: v1\nmetadata: {name: node}\n---\n", []string{"a", "node"}, ""},
		{"a List", "-- a.yaml --\napiVersion: v1\nkind: List\nitems:\n- " + pod + "\n", []string{"a"}, ""},
		{"a typed list, whose items do not say what they are", `-- a.json --
{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a", "namespace": "x"}}, {"metadata": {"name": "b"}}]}`,
			[]string{"x/a", "b"}, ""},
		{"a bare array of pods", `-- stdin --` + "\n" + `[{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]`, []string{"a", "b"}, ""},
		{"an empty array", "-- stdin --\n[]", nil, ""},
		{"an empty list", "-- a.json --\n" + `{"apiVersion": "v1", "kind": "List", "items": []}`, nil, ""},
		{"JSON values one after the other", "-- stdin --\n" + pod + "\n" + strings.Replace(pod, `"a"`, `"b"`, 1), []string{"a", "b"}, ""},
		{"JSON in a YAML file", "-- a.yaml --\n" + pod + "\n", []string{"a"}, ""},
		{"a flow mapping that is no JSON", "-- a.yaml --\n{apiVersion: v1, kind: Node, metadata: {name: node}}\n", []string{"node"}, ""},
		{"escapes in strings", "-- stdin --\n" + `[{"metadata": {"name": "a", "annotations": {"x\"]}": "\\"}}}]`, []string{"a"}, ""},
		{"a directory, by name, hidden files and others left out", "-- d/b.yml --\nkind: Node\napiVersion: v1\nmetadata: {name: b}\n" +
			"-- d/a.json --\n" + pod + "\n-- d/.c.yaml --\nx\n-- d/.git/e.yaml --\nx\n-- d/notes.md --\nx\n-- d/sub/z.yaml --\n" +
			"kind: Node\napiVersion: v1\nmetadata: {name: z}\n", []string{"a", "b", "z"}, ""},
		{"in a directory, what is no manifest is skipped", "-- d/a.json --\n" + pod + "\n-- d/values.yaml --\nreplicas: 3\n",
			[]string{"a"}, "ignored kinds without effect: 1 document that is not a Kubernetes object"},
		{"kinds that play no part", "-- a.yaml --\nkind: ConfigMap\napiVersion: v1\n---\nkind: ConfigMap\napiVersion: v1\n---\n" + pod,
			[]string{"a"}, "ignored kinds without effect: 2 ConfigMap"},
		{"generated names", "-- stdin --\n" + `[{"metadata": {"generateName": "a-"}}, {"metadata": {"name": "a-2"}}, {"metadata": {"generateName": "a-"}}]`,
			[]string{"a-1", "a-2", "a-3"}, ""},
		{"one object twice", "-- a.json --\n" + pod + "\n-- b.json --\n" + pod, []string{"a"},
			"1 object given more than once, the last one is used (Pod a in a.json: document 1, and b.json: document 1)"},
		{"one name on two nodes", "-- stdin --\n" + `[{"metadata": {"name": "a"}, "spec": {"nodeName": "n"}}, {"metadata": {"name": "a"}}]`,
			[]string{"a", "a.n"}, "1 object with the name of another pod on a different node: both are used"},
		{"a field that Kubernetes does not have", "-- a.yaml --\n" + "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  nodeselector: {}\n",
			[]string{"a"}, `a.yaml: document 1: Pod a: unknown field "spec.nodeselector", ignored`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := read(t, tt.archive, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, titles(set)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			switch {
			case tt.warning == "" && len(set.Warnings) > 0:
				t.Errorf("warnings: %q", set.Warnings)
			case tt.warning != "" && (len(set.Warnings) != 1 || !strings.Contains(set.Warnings[0], tt.warning)):
				t.Errorf("warnings are %q, want %q", set.Warnings, tt.warning)
			}
		})
	}
}

// Of two pods with one name, each has its own place in messages, whichever of them has a node.
func TestPlacesOfNamesakes(t *testing.T) {
	const pending, bound = `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}`,
		`{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"nodeName": "n"}}`
	for _, archive := range []string{"-- x.json --\n" + pending + "\n-- y.json --\n" + bound, "-- x.json --\n" + bound + "\n-- y.json --\n" + pending} {
		set, err := read(t, archive, nil)
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, o := range set.objects {
			files = append(files, filepath.Base(set.Place(o).File))
		}
		slices.Sort(files)
		if !slices.Equal(files, []string{"x.json", "y.json"}) {
			t.Errorf("%s: the pods are in %v", archive, files)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ name, archive, want string }{
		{"bad YAML", "-- a.yaml --\nkind: Pod\n---\nkind: Pod\nmetadata:\n  name: x\n bad: y\n",
			"a.yaml: document 2, line 6: not valid YAML: did not find expected key"},
		{"a key twice", "-- a.yaml --\nkind: Pod\nkind: Node\n", `a.yaml: document 1, line 2: not valid YAML: key "kind" already set in map`},
		{"a template", "-- a.yaml --\nkind: Pod\nmetadata:\n  name: {{ .Name }}\n", "(looks like a template: render it first)"},
		{"JSON cut off", "-- a.json --\n" + `[` + "\n" + `{"kind": "Pod"`, "a.json: document 1, line 1: unexpected end of JSON: '[' is not closed"},
		{"JSON without a comma", "-- a.json --\n" + `[{} {}]`, "a.json: document 1, line 1: object: missing comma after item 1"},
		{"an empty file", "-- a.yaml --\n# nothing\n", "a.yaml: the file is empty"},
		{"no object", "-- a.yaml --\n- 1\n", "a.yaml: document 1, item 1, line 1: Pod: is 1, must be an object"},
		{"text", "-- a.yaml --\nhello\n", "a.yaml: document 1, line 1: object: must be a Kubernetes object, but is a string"},
		{"no kind", "-- a.yaml --\nmetadata: {name: a}\n", "a.yaml: document 1, line 1: object a: kind: required field is not set"},
		{"no name", "-- a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {labels: {}}\n", "a.yaml: document 1, line 3: Pod: metadata.name: required field is not set"},
		{"a quantity", "-- a.yaml --\napiVersion: v1\nkind: List\nitems:\n- " + pod + "\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: web}\n" +
			"  spec:\n    template:\n      spec:\n        containers:\n        - name: c\n          resources:\n            requests:\n              cpu: 1 core\n",
			`a.yaml: document 1, item 2, line 15: Deployment web: spec.template.spec.containers[0].resources.requests.cpu: "1 core" is not a quantity, use for example 500m, 2 or 4Gi`},
		{"a number for text", "-- stdin --\n[\n" + pod + ",\n" + strings.Replace(pod, `"c"`, `7`, 1) + "\n]",
			"stdin: document 1, item 2, line 3: Pod a: spec.containers[0].name: is 7, must be a string"},
		{"a word that YAML takes for a truth value", "-- a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: on}\n",
			"metadata.name: is true, must be a string; quote it"},
		{"a list for an object", "-- a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: [x]\n",
			"a.yaml: document 1, line 5: Pod a: spec.nodeSelector: is a list, must be an object"},
		{"a field of ours that does not exist", "-- a.yaml --\n" + pool("requirement: []"),
			"a.yaml: document 1, line 8: NodePool p: spec.template.spec.requirement: unknown field"},
		{"a value of ours", "-- a.yaml --\n" + pool("requirements: [{key: a, operator: in, values: [b]}]"),
			"spec.template.spec.requirements[0].operator: "},
		{"a rule of ours", "-- a.yaml --\n" + pool("requirements: [{key: a, operator: Gt, values: [b]}]"),
			"a.yaml: document 1, line 8: NodePool p: spec.template.spec.requirements"},
		{"another version of ours", "-- a.yaml --\napiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: p}\n",
			"a.yaml: document 1, line 1: NodePool p: apiVersion: unknown kind NodePool in karpenter.sh/v1beta1; use karpenter.sh/v1 NodePool"},
		{"a kind of ours misspelt", "-- a.yaml --\napiVersion: karpenter.sh/v1\nkind: NodePol\nmetadata: {name: p}\n",
			"known kinds: NodeClaim, NodeOverlay, NodePool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t, tt.archive, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v\nwant      %s", err, tt.want)
			}
		})
	}
}

// pool is a NodePool with a field in its template's spec, on line 8.
func pool(field string) string {
	return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec:\n  template:\n    spec:\n" +
		"      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n      " + field + "\n"
}

func TestAllMistakesAtOnce(t *testing.T) {
	archive := "-- stdin --\n["
	for range 30 {
		archive += `{"kind": "Pod", "apiVersion": "v1"},`
	}
	_, err := read(t, strings.TrimSuffix(archive, ",")+"]", nil)
	if n := strings.Count(err.Error(), "metadata.name: required field is not set"); n != maxErrors {
		t.Errorf("%d mistakes told, want %d:\n%v", n, maxErrors, err)
	}
	if !strings.HasSuffix(err.Error(), "... and 10 more") {
		t.Errorf("the end required field is not set:\n%v", err)
	}
}

func TestDefaultsOfOurs(t *testing.T) {
	set, err := read(t, "-- a.yaml --\n"+pool("requirements: []"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := Of[*apiv1.NodePool](set)[0]
	if got := p.Spec.Disruption.ConsolidationPolicy; got != apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized {
		t.Errorf("consolidationPolicy is %q", got)
	}
	if len(p.Spec.Disruption.Budgets) != 1 || p.Spec.Disruption.Budgets[0].Nodes != "10%" {
		t.Errorf("budgets are %v", p.Spec.Disruption.Budgets)
	}
}

func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	for _, paths := range [][]string{{dir}, {filepath.Join(dir, "a.yaml")}, {Stdin}} {
		if _, err := Read(t.Context(), paths, Options{}); err == nil {
			t.Errorf("%v: no error", paths)
		}
	}
}

func TestPodsAreTyped(t *testing.T) {
	set, err := read(t, "-- stdin --\n["+pod+"]", nil)
	if err != nil {
		t.Fatal(err)
	}
	pods := Of[*corev1.Pod](set)
	if len(pods) != 1 || pods[0].Spec.Containers[0].Name != "c" || set.Place(pods[0]).String() != "stdin: document 1, item 1" {
		t.Errorf("got %v", pods)
	}
	if len(Of[*corev1.Node](set)) != 0 {
		t.Error("a pod is a node")
	}
}
