package long

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy has uncommitted files, is updated when files change, and keeps the files that are built in it.
func TestCopy(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := git(t.Context(), from, "init", "--quiet"); err != nil {
		t.Fatal(err)
	}
	write(from, "a", "1")
	write(from, "b", "1")
	write(from, ".gitignore", "bin\n")
	write(from, "bin", "1")
	if err := os.Symlink("a", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	want := func(names, committed string) {
		t.Helper()
		if err := Copy(t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
		out, err := git(t.Context(), to, "ls-files")
		if err != nil || strings.Join(strings.Fields(out), " ") != names {
			t.Errorf("it has %q (%v), want %s", out, err, names)
		}
		if out, err := git(t.Context(), to, "show", "HEAD:a"); err != nil || out != committed {
			t.Errorf("a is %q (%v), want %q", out, err, committed)
		}
		if target, err := os.Readlink(filepath.Join(to, "link")); err != nil || target != "a" {
			t.Errorf("the link leads to %q (%v)", target, err)
		}
	}
	want(".gitignore a b link", "1")
	write(to, "bin", "built")
	write(from, "a", "2")
	if err := os.Remove(filepath.Join(from, "b")); err != nil {
		t.Fatal(err)
	}
	want(".gitignore a link", "2")
	if built, err := os.ReadFile(filepath.Join(to, "bin")); err != nil || string(built) != "built" {
		t.Errorf("what was built is %q (%v)", built, err)
	}
}
