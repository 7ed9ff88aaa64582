package objects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml":    "kind: B\nmetadata: {name: b}\n",
		"a.yaml":    "# only a comment\n---\nkind: A\nmetadata: {name: a1}\n---\n---\nkind: A\nmetadata: {name: a2}\n",
		"notes.txt": "kind: C",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.GetName())
	}
	if diff := cmp.Diff([]string{"a1", "a2", "b"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if _, err := ReadDir(t.TempDir()); err == nil {
		t.Error("an empty directory is no error")
	}
}

func TestParseNamesTheDocument(t *testing.T) {
	for _, bad := range []string{"kind: A", "a: [", "just text"} {
		_, err := Parse([]byte("kind: A\nmetadata: {name: a}\n---\n" + bad))
		if err == nil || !strings.Contains(err.Error(), "document 2") {
			t.Errorf("%q: error %v, want one that names document 2", bad, err)
		}
	}
}
