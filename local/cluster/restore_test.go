package cluster

import (
	"os"
	"path/filepath"
	"strings"
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

// If etcd does not start with the snapshot, its former data are in place again.
func TestFailedRestoreKeepsData(t *testing.T) {
	c, err := up(t, Options{Binary: script(t, "exit 1")})
	if err == nil {
		t.Fatal("a script passes for etcd")
	}
	entry := filepath.Join(c.dir.Data("etcd"), "member")
	if err := os.MkdirAll(entry, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "etcd.db")
	if err := os.WriteFile(file, []byte("no snapshot"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Restore(t.Context(), file, RevisionBump); err == nil || !strings.Contains(err.Error(), "return to the former data") {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(entry); err != nil {
		t.Errorf("the former data are lost: %v", err)
	}
}
