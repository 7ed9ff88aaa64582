package check_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/provider/remote"
	"github.com/karpenter-go/karpenter/provider/remote/check"
)

const examples = "../../../examples"

// The toy provider in Go passes all checks.
func TestToyInGo(t *testing.T) {
	program := filepath.Join(t.TempDir(), "toy")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, examples+"/providers/go").CombinedOutput(); err != nil {
		t.Fatalf("build the toy: %v\n%s", err, out)
	}
	passes(t, "ToyNodeClass.toy.example.com/v1", func(path string) []string { return []string{program, "-listen", path} })
}

// The toy provider in Python passes all checks.
func TestToyInPython(t *testing.T) {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import grpc, google.protobuf").Run() == nil {
			passes(t, "PythonNodeClass.python.toy.example.com/v1", func(path string) []string {
				return []string{python, examples + "/providers/python/provider.py", path}
			})
			return
		}
	}
	t.Skip("no python3 with the packages grpc and google.protobuf: apt install python3-grpcio python3-protobuf")
}

// passes runs a provider and fails the test unless it passes all checks.
func passes(t *testing.T, class string, command func(path string) []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "toy") // in the system's directory, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	args := command(path)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	report, err := check.Run(t.Context(), check.Options{
		Clock: clock.RealClock{},
		Connect: func(ctx context.Context, classes client.Reader) (*remote.Provider, error) {
			return remote.Connect(ctx, remote.Config{
				Address: "unix://" + path, Reader: classes, Clock: clock.RealClock{}, Metrics: remote.NewMetrics(nil),
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(report.NodeClasses, []string{class}) {
		t.Errorf("node classes are %v", report.NodeClasses)
	}
	var skipped []string
	for _, l := range report.Lines {
		switch l.Result {
		case "failed":
			t.Errorf("%s: %v", l.Check, l.Problems)
		case "skipped":
			skipped = append(skipped, l.Check)
		}
	}
	if want := []string{"an exhausted offering is reported and remembered"}; !slices.Equal(skipped, want) {
		t.Errorf("skipped are %q, want %q", skipped, want)
	}
}
