package migrate

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/api/admission"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func price(string, string, bool) (float64, bool) { return 0.1, true }

// Each golden file has outputs of the AWS CLI and the result of their conversion. The API server accepts the manifests.
func TestGoldens(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var in []File
		for _, f := range archive.Files {
			if f.Name != "want" {
				in = append(in, File(f))
			}
		}
		r, err := Groups(in, Options{Price: price})
		text := strings.Join(r.Manifests, "---\n")
		for _, n := range r.Notes {
			text += "note: " + n.String() + "\n"
		}
		for _, s := range r.Steps {
			text += "step: " + s.String() + "\n"
		}
		if err != nil {
			text = "error: " + err.Error() + "\n"
		}
		for _, document := range r.Manifests {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
				t.Fatal(err)
			}
			if len(o.Object) == 0 {
				continue
			}
			if _, errs := checker.Create(t.Context(), o); len(errs) > 0 {
				t.Errorf("%s: %s %s: %v", file, o.GetKind(), o.GetName(), errs.ToAggregate())
			}
		}
		want := &txtar.Archive{Comment: archive.Comment, Files: append(archive.Files[:len(in):len(in)], txtar.File{Name: "want", Data: []byte(text)})}
		if bytes.Equal(txtar.Format(want), txtar.Format(archive)) {
			continue
		}
		if !*update {
			t.Errorf("%s (-want +got):\n%s", file, cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(want))))
			continue
		}
		if err := os.WriteFile(file, txtar.Format(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Groups returns on any input, without a panic.
func FuzzGroups(f *testing.F) {
	f.Add([]byte(`{"nodegroup": {"nodegroupName": "a"}}`))
	f.Add([]byte(`{"AutoScalingGroups": [{"AutoScalingGroupName": "b"}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = Groups([]File{{"fuzz", data}}, Options{})
	})
}
