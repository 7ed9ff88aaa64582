package cli

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/karpenter-go/karpenter/internal/operator"
)

// A binary says of which commit it is, if it knows.
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
