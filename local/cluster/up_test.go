package cluster

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/local/state"
)

// script writes a program that is run instead of karpenter-local.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "karpenter-local")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func up(t *testing.T, o Options) (*Cluster, error) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "cluster")
	}
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Up(t.Context())
	t.Cleanup(func() {
		if err := c.Down(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return c, err
}

// wantLine checks that err is a single line that contains all of words.
func wantLine(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Fatalf("error is %v, want one line", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
}

func TestUpNamesMissingProgram(t *testing.T) {
	_, err := up(t, Options{Binary: script(t, ""), Controller: "/no/such/karpenter"})
	wantLine(t, err, "controller", "/no/such/karpenter", "make build")
	_, err = up(t, Options{Binary: "/no/such/karpenter-local"})
	wantLine(t, err, "/no/such/karpenter-local", "make build")
}

func TestUpNamesTakenPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = up(t, Options{Binary: script(t, ""), Ports: map[string]int{"etcd": port}})
	wantLine(t, err, "etcd", "is taken")
}

// If a part ends while it starts, Up returns an error at once that quotes its log.
func TestUpQuotesTheLastWords(t *testing.T) {
	c, err := up(t, Options{Binary: script(t, "echo first; echo the disk is full; exit 3")})
	if err == nil || !strings.Contains(err.Error(), "start etcd") ||
		!strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("error is %v, want the part, its status and its last words", err)
	}
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.Ready || len(status.Parts) == 0 || status.Parts[0].Running {
		t.Errorf("status %+v, want etcd not running", status)
	}
}

// If a part runs but never becomes healthy, Up returns an error after Patience.
func TestUpRunsOutOfPatience(t *testing.T) {
	_, err := up(t, Options{
		Binary: script(t, "echo thinking; while :; do :; done"), Patience: 300 * time.Millisecond,
	})
	if err == nil || !strings.Contains(err.Error(), "not healthy after 300ms") ||
		!strings.Contains(err.Error(), "thinking") {
		t.Errorf("error is %v, want one that says how long and quotes the log", err)
	}
}

// After a failed Up, Down leaves no file and no process.
func TestDownCleansUpAfterFailure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	binary := script(t, "trap '' TERM; echo stubborn; while :; do :; done")
	c, err := up(t, Options{Dir: dir, Binary: binary, Patience: 100 * time.Millisecond})
	if err == nil {
		t.Fatal("a script passes for etcd")
	}
	id := c.state.Parts["etcd"]
	if !id.Alive() {
		t.Fatal("the process does not run")
	}
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("directory is still there: %v", err)
	}
	if id.Alive() {
		t.Error("the process is still there")
	}
}

func TestSettingsOfTheFirstStartAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	var out strings.Builder
	for _, boot := range []string{"7s", "9s", ""} {
		out.Reset()
		c, err := up(t, Options{
			Dir: dir, Binary: script(t, "exit 1"), Out: &out, Settings: state.Settings{NodesBoot: boot},
		})
		if err == nil {
			t.Fatal("a script passes for etcd")
		}
		if got := c.state.Settings; got.NodesBoot != "7s" || got.Provider != DefaultProvider {
			t.Errorf("after %q: settings are %+v", boot, got)
		}
		if told := strings.Contains(out.String(), "--nodes-boot 7s and keeps it"); told != (boot == "9s") {
			t.Errorf("after %q it says:\n%s", boot, out.String())
		}
	}
}

// Additional arguments come last, so that they override others. They are passed only to their own part.
func TestUpAddsArguments(t *testing.T) {
	_, err := up(t, Options{Binary: script(t, `echo "called with $@"; exit 3`), Arguments: map[string][]string{
		"etcd": {"--quota=7"}, "kube-apiserver": {"--feature-gates=Some=false"},
	}})
	if err == nil || !strings.Contains(err.Error(), "called with etcd ") || !strings.Contains(err.Error(), " --quota=7") ||
		strings.Contains(err.Error(), "Some=false") {
		t.Errorf("error is %v, want what etcd was called with", err)
	}
}

// Another scheduler is started as a program of its own. It gets the same arguments as the built-in one, without the name of the
// part.
func TestAnotherScheduler(t *testing.T) {
	_, err := up(t, Options{Binary: script(t, ""), Scheduler: "/no/such/kube-scheduler"})
	wantLine(t, err, "the scheduler", "/no/such/kube-scheduler")

	c, err := Open(Options{Dir: t.TempDir(), Binary: "ours"})
	if err != nil {
		t.Fatal(err)
	}
	own := c.scheduler(c.state, keys{})
	c.options.Scheduler = "theirs"
	other := c.scheduler(c.state, keys{})
	if own.binary != "ours" || own.args[0] != "kube-scheduler" || other.binary != "theirs" || !slices.Equal(other.args, own.args[1:]) {
		t.Errorf("ours runs as %s %q, another as %s %q", own.binary, own.args, other.binary, other.args)
	}
}

// --remote is checked before anything starts.
func TestUpNamesUnknownRemote(t *testing.T) {
	for remote, words := range map[string][]string{"gcp": {"--remote", "gcp", "aws", "unix:///"}, "remote": {"--remote", "remote"}} {
		_, err := up(t, Options{Binary: script(t, ""), Settings: state.Settings{Provider: "remote", Remote: remote}})
		wantLine(t, err, words...)
	}
	_, err := up(t, Options{Binary: script(t, ""), Settings: state.Settings{Provider: "aws", Remote: "kwok"}})
	wantLine(t, err, "--remote", "--provider remote")
	_, err = up(t, Options{Binary: script(t, ""), Settings: state.Settings{Provider: "remote", NodeClasses: "toys"}})
	wantLine(t, err, "--node-classes", "RESOURCE.GROUP")
	long := filepath.Join(t.TempDir(), strings.Repeat("x", longestSocket), "cluster")
	_, err = up(t, Options{Dir: long, Binary: script(t, ""), Settings: state.Settings{Provider: "remote"}})
	wantLine(t, err, "socket", "--dir")
}
