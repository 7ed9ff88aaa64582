package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// Without a cluster or without the file, nothing is stopped.
func TestRestoreChecksFirst(t *testing.T) {
	c, err := Open(Options{Dir: filepath.Join(t.TempDir(), "none"), Binary: script(t, "")})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "etcd.db")
	wantLine(t, c.Restore(t.Context(), file, 0), "no cluster here")
	wantLine(t, c.Snapshot(t.Context(), file), "no cluster here")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a snapshot was written: %v", err)
	}
	c, err = up(t, Options{Binary: script(t, "exit 1")})
	if err == nil {
		t.Fatal("a script passes for etcd")
	}
	wantLine(t, c.Restore(t.Context(), file, 0), "find snapshot", "etcd.db")
}
