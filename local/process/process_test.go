package process

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// shell starts sh with a script, and stops it when the test ends.
func shell(t *testing.T, script string) (*Child, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	child, err := Start(Program{Binary: "/bin/sh", Args: []string{"-c", script}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Kill(context.Background(), []ID{child.ID}); err != nil {
			t.Error(err)
		}
		<-child.Exited() // this would block if the child were not recognized
	})
	return child, log
}

func TestStopAsksFirst(t *testing.T) {
	child, log := shell(t, `trap 'echo asked; exit 0' TERM; echo ready; while :; do :; done`)
	waitForLog(t, log, "ready\n")
	if !child.ID.Alive() {
		t.Fatal("a running process is not alive")
	}
	if err := Stop(t.Context(), []ID{child.ID}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	<-child.Exited()
	if got := read(t, log); got != "ready\nasked\n" {
		t.Errorf("log is %q, want it to have been asked", got)
	}
	if child.ID.Alive() {
		t.Error("a stopped process is alive")
	}
}

func TestStopKillsTheStubborn(t *testing.T) {
	child, log := shell(t, `trap '' TERM; echo ready; while :; do :; done`)
	waitForLog(t, log, "ready\n")
	if err := Stop(t.Context(), []ID{child.ID}, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-child.Exited()
	if err := child.ExitError(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v, want it killed", err)
	}
}

// A process that has only the same ID must never be signalled.
func TestStrangersAreLeftAlone(t *testing.T) {
	child, _ := shell(t, `while :; do :; done`)
	otherBirth, otherProgram := child.ID, child.ID
	otherBirth.Born = "1"
	otherProgram.Binary = "/bin/other"
	for name, id := range map[string]ID{
		"another birth": otherBirth, "another program": otherProgram, "no process": {PID: 1 << 30},
		"nothing recorded": {},
	} {
		if id.Alive() {
			t.Errorf("%s: alive", name)
		}
		if err := Stop(t.Context(), []ID{id}, time.Second); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	select {
	case <-child.Exited():
		t.Fatalf("the stranger was stopped: %v", child.ExitError())
	default:
	}
}

func TestStartTellsWhatIsMissing(t *testing.T) {
	_, err := Start(Program{Binary: "/no/such/program", Log: filepath.Join(t.TempDir(), "log")})
	if err == nil {
		t.Fatal("started a program that does not exist")
	}
}

// waitForLog returns when the content of the log is want. It has no time limit except that of the test.
func waitForLog(t *testing.T, log, want string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for read(t, log) != want {
		select {
		case <-t.Context().Done():
			t.Fatalf("log is %q, want %q", read(t, log), want)
		case <-tick.C:
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
