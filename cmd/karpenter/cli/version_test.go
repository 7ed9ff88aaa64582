package cli

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/karpenter-go/karpenter/internal/operator"
)

// The version of a binary includes its commit, if the build recorded it.
func TestVersion(t *testing.T) {
	platform := runtime.Version() + ", " + runtime.GOARCH
	var out bytes.Buffer
	root := New(operator.Version{Number: "1.2.3", Commit: "abc"})
	root.SetOut(&out)
	root.SetArgs([]string{"version"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "karpenter 1.2.3 (commit abc, " + platform + ")\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
}
