package e2e

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/karpenter-go/karpenter/local/process"
	"github.com/karpenter-go/karpenter/local/state"
)

// When the process that holds the pipe has ended, the watchdog stops the parts and removes the directory. So a test leaves no
// cluster behind, however it ends.
func TestWatchdogStopsTheCluster(t *testing.T) {
	dir, err := state.At(filepath.Join(t.TempDir(), "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Create(); err != nil {
		t.Fatal(err)
	}
	part, err := process.Start(process.Program{
		Binary: "/bin/sh", Args: []string{"-c", "while :; do :; done"}, Log: dir.Log("part"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Kill(context.Background(), []process.ID{part.ID}); err != nil {
			t.Error(err)
		}
	})
	if err := dir.Save(&state.State{Parts: map[string]process.ID{"part": part.ID}}); err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	watchdog := exec.CommandContext(t.Context(),
		filepath.Join(*binaries, "karpenter-local"), "watchdog", "--dir", string(dir))
	watchdog.Stdin = read
	if err := watchdog.Start(); err != nil {
		t.Fatal(err)
	}
	if !part.ID.Alive() {
		t.Fatal("the part is gone before the pipe is")
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if err := watchdog.Wait(); err != nil {
		t.Fatal(err)
	}
	if part.ID.Alive() {
		t.Error("the part outlives its owner")
	}
	if _, err := os.Stat(string(dir)); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}
