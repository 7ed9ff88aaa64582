package check_test

import (
	"os/exec"
	"testing"
)

// A provider in a Go module of its own, which cannot import packages below internal, builds and passes all checks. If only the
// requirements of this module have changed, run go mod tidy in its directory.
func TestProviderInAModuleOfItsOwn(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./...")
	cmd.Dir = examples + "/providers/module"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go test in examples/providers/module: %v\n%s", err, out)
	}
}
