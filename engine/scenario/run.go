package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the want sections of the scenarios")

// Run executes each file of testdata/scenario. decide returns the text of the decisions for the cluster of its section
// cluster.yaml. See Files.
func Run(t *testing.T, decide func(t *testing.T, c *Cluster, ar *txtar.Archive) string) {
	Files(t, "testdata/scenario", func(t *testing.T, ar *txtar.Archive) string {
		var c Cluster
		if err := yaml.UnmarshalStrict(Section(t, ar, "cluster.yaml").Data, &c); err != nil {
			t.Fatal(err)
		}
		return decide(t, &c, ar)
	})
}

// Files executes each txtar file of a folder as a subtest, and compares the result of decide with the section want. To
// add a behaviour, add a file; to accept a change, run with -update and read the diff.
func Files(t *testing.T, folder string, decide func(t *testing.T, ar *txtar.Archive) string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", folder, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, want := decide(t, ar), Section(t, ar, "want")
			if got == string(want.Data) {
				return
			}
			if !*update {
				t.Fatalf("decisions:\n%s\nwant:\n%s\n(go test -update rewrites %s)", got, want.Data, file)
			}
			want.Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Section returns the named section of ar. It fails the test if there is none.
func Section(t *testing.T, ar *txtar.Archive, name string) *txtar.File {
	t.Helper()
	for i := range ar.Files {
		if ar.Files[i].Name == name {
			return &ar.Files[i]
		}
	}
	t.Fatalf("no section %q", name)
	return nil
}
