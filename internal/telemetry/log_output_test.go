package telemetry

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenLogAppendsToFiles(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for i := range 2 {
		w, closeAll, err := OpenLog([]string{a, b})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(w, "line", i)
		if err := closeAll(); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{a, b} {
		if got, err := os.ReadFile(path); err != nil || string(got) != "line 0\nline 1\n" {
			t.Errorf("%s holds %q, error %v", filepath.Base(path), got, err)
		}
	}
	if _, closeAll, err := OpenLog([]string{a, filepath.Join(t.TempDir(), "none", "c")}); err == nil || closeAll == nil {
		t.Errorf("a folder that does not exist: error %v", err)
	}
}
