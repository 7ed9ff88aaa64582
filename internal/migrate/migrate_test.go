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

func price(string, bool) (float64, bool) { return 0.1, true }

// Each golden holds answers, and what becomes of them. The API server accepts what is written.
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
		in := archive.Files[0]
		r, err := Groups(in.Name, bytes.NewReader(in.Data), Options{Price: price})
		text := r.Manifests
		for _, n := range r.Notes {
			text += "note: " + n + "\n"
		}
		for _, s := range r.Steps {
			text += "step: " + s + "\n"
		}
		if err != nil {
			text = "error: " + err.Error() + "\n"
		}
		for _, document := range strings.Split(r.Manifests, "---\n") {
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
		want := &txtar.Archive{Comment: archive.Comment, Files: []txtar.File{in, {Name: "want", Data: []byte(text)}}}
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

// Whatever it is given, Groups answers.
func FuzzGroups(f *testing.F) {
	f.Add([]byte(`{"nodegroup": {"nodegroupName": "a"}}`))
	f.Add([]byte(`{"AutoScalingGroups": [{"AutoScalingGroupName": "b"}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = Groups("fuzz", bytes.NewReader(data), Options{})
	})
}
