package cli

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/state"
)

func TestTakeDir(t *testing.T) {
	for _, tt := range []struct{ args, rest, dir string }{
		{"get pods -A", "get pods -A", "unset"},
		{"--dir d get pods", "get pods", "d"},
		{"get --dir=d pods", "get pods", "d"},
		{"exec p -- ls --dir x", "exec p -- ls --dir x", "unset"},
		{"--dir d exec p -- ls --dir=x", "exec p -- ls --dir=x", "d"},
	} {
		a := app{dir: "unset"}
		rest, err := a.takeDir(strings.Fields(tt.args))
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
		}
		if diff := cmp.Diff(strings.Fields(tt.rest), rest); diff != "" || a.dir != tt.dir {
			t.Errorf("%s: dir %q, rest (-want +got):\n%s", tt.args, a.dir, diff)
		}
	}
	if _, err := (&app{}).takeDir([]string{"get", "--dir"}); err == nil {
		t.Error("--dir without a value is no error")
	}
}

// run executes a command line without any of the cluster's parts.
func run(args ...string) int {
	return Run(args, Programs{Kubectl: func([]string) int { return 0 }})
}

// kubectl gets its own arguments and the kubeconfig of the cluster. Its exit code is returned.
func TestKubectl(t *testing.T) {
	dir, _ := emulated(t)
	t.Setenv("KUBECONFIG", "/somebody/elses")
	var args []string
	code := Run([]string{"kubectl", "get", "pods", "-o", "name", "--dir", dir}, Programs{
		Kubectl: func(a []string) int { args = a; return 7 },
	})
	if code != 7 {
		t.Errorf("exit code %d, want kubectl's own", code)
	}
	if diff := cmp.Diff([]string{"get", "pods", "-o", "name"}, args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if got := os.Getenv("KUBECONFIG"); got != filepath.Join(dir, "kubeconfig") {
		t.Errorf("kubectl would use %s", got)
	}
}

// A part gets all arguments after its name, including --dir and --help.
func TestPartGetsItsArguments(t *testing.T) {
	var args []string
	code := Run([]string{"etcd", "--dir=x", "--help"}, Programs{Parts: []Part{{
		Name: "etcd", Run: func(_ context.Context, a []string) error { args = a; return nil },
	}}})
	if diff := cmp.Diff([]string{"--dir=x", "--help"}, args); diff != "" || code != 0 {
		t.Errorf("exit code %d, arguments (-want +got):\n%s", code, diff)
	}
}

func TestExitCodes(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		args string
		want int
	}{
		{"--help", 0},
		{"status", exitFailed},
		{"nonsense", exitUsage},
		{"nonsense --help", exitUsage},
		{"aws nonsense --help", exitUsage},
		{"aws --help", 0},
		{"up --nonsense", exitUsage},
		{"up extra", exitUsage},
		{"up --provider nonsense", exitUsage},
		{"up --port nonsense=1", exitUsage},
		{"up --port etcd=nonsense", exitUsage},
		{"status -o xml", exitUsage},
		{"aws", exitUsage},
		{"kubeconfig", exitUnreachable},
		{"kubectl get pods", exitUnreachable},
		{"logs etcd", exitUnreachable},
		{"snapshot file", exitUnreachable},
		{"restore file", exitUnreachable},
		{"restore", exitUsage},
		{"aws instances", exitUnreachable},
		{"demo", exitUnreachable},
		{"down", 0},
	} {
		if got := run(append([]string{"--dir", none}, strings.Fields(tt.args)...)...); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.args, got, tt.want)
		}
	}
	if _, err := os.Stat(none); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

// emulated returns a state directory whose emulator is served by this test.
func emulated(t *testing.T) (dir string, cloud control.Client) {
	t.Helper()
	emulator, err := awsemu.New(awsemu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(emulator)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	d, err := state.At(filepath.Join(t.TempDir(), "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(&state.State{Ports: map[string]int{"awsemu": port}}); err != nil {
		t.Fatal(err)
	}
	return string(d), control.Client{BaseURL: server.URL}
}

// Every command is sent to the emulator, and the emulator accepts it.
func TestAWSOrders(t *testing.T) {
	dir, _ := emulated(t)
	for _, tt := range []struct {
		args string
		want int
	}{
		{"ice m7a.large/us-east-1a/spot", 0},
		{"ice m7a.* --limit 3", 0},
		{"ice m7a.large/us-east-1a/spot --clear", 0},
		{"ice a/b/c/d", exitUsage},
		{"price m7a.large/us-east-1a 0.01", 0},
		{"price m7a.large 0.02", 0},
		{"price m7a.large cheap", exitUsage},
		{"price m7a.large", exitUsage},
		{"price --clear", 0},
		{"quota spot 64", 0},
		{"quota spot -- -1", 0},
		{"quota spot many", exitUsage},
		{"throttle CreateFleet 2 --burst 5", 0},
		{"throttle CreateFleet -- -2", exitUsage},
		{"fail CreateFleet UnauthorizedOperation --times 3", 0},
		{"hang CreateFleet 10s --type m7a.* --times 1 --after", 0},
		{"hang CreateFleet long", exitUsage},
		{"boot --type m7a.* --delay 9s", 0},
		{"boot --never", 0},
		{"boot --clear", 0},
		{"clear CreateFleet", 0},
		{"clear", 0},
		{"interrupt", exitUsage},
		{"interrupt i-1 --random 1", exitUsage},
		{"interrupt i-none", exitFailed},
		{"stop", exitUsage},
		{"stop i-none", exitFailed},
		{"start i-none", exitFailed},
		{"lag 20s --tags", 0},
		{"lag 0s", 0},
		{"event i-none rebalance", exitFailed},
		{"instances", 0},
		{"calls --since 3 -o json", 0},
		{"reset", 0},
	} {
		args := append([]string{"--dir", dir, "aws"}, strings.Fields(tt.args)...)
		if got := run(args...); got != tt.want {
			t.Errorf("aws %s: exit code %d, want %d", tt.args, got, tt.want)
		}
	}
}

// If the emulator does not respond, the exit code is that for an unreachable cluster, not that for a wrong command.
func TestAWSWithoutEmulator(t *testing.T) {
	dir, _ := emulated(t)
	d, err := state.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &state.State{Ports: map[string]int{}}
	if err := s.AssignPorts([]string{"awsemu"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(s); err != nil {
		t.Fatal(err)
	}
	if got := run("aws", "instances", "--dir", dir); got != exitUnreachable {
		t.Errorf("exit code %d, want %d", got, exitUnreachable)
	}
}

func TestLogsNamesTheParts(t *testing.T) {
	dir, _ := emulated(t)
	if err := os.WriteFile(filepath.Join(dir, "logs", "etcd.log"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := newRoot(Programs{})
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs([]string{"logs", "etcd", "--dir", dir})
	if err := root.Execute(); err != nil || out.String() != "x\n" {
		t.Errorf("logs etcd: %v, printed %q", err, out.String())
	}
	root.SetArgs([]string{"logs", "kubelet", "--dir", dir})
	if err := root.Execute(); err == nil || !strings.Contains(fmt.Sprint(err), "etcd") {
		t.Errorf("logs kubelet: %v, want the parts that have logs", err)
	}
}

// The help of every command has an example, and the command accepts each of its examples.
func TestHelpHasExamples(t *testing.T) {
	root := newRoot(Programs{})
	seen := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			look(sub)
		}
		if c.HasSubCommands() || c.Name() == "help" || c.GroupID == "parts" { // up starts the parts
			return
		}
		seen++
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(line, " >")
			words := strings.Fields(strings.ReplaceAll(line, "'", ""))
			found, rest, err := root.Find(words[1:])
			if err == nil && found.Name() != c.Name() {
				err = fmt.Errorf("that is %s", found.CommandPath())
			}
			if err == nil && !found.DisableFlagParsing {
				err = found.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s --help shows %q: %v", c.CommandPath(), line, err)
			}
		}
		if c.Example == "" {
			t.Errorf("%s --help has no examples", c.CommandPath())
		}
	}
	look(root)
	if seen < 20 {
		t.Errorf("looked at %d commands", seen)
	}
}
