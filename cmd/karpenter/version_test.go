package main

import (
	"bytes"
	"runtime"
	"testing"
)

// A binary says of which commit it is, if it knows.
func TestVersion(t *testing.T) {
	number, of := version, commit
	t.Cleanup(func() { version, commit = number, of })
	platform := runtime.Version() + ", " + runtime.GOARCH
	version, commit = "1.2.3", "abc"
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetArgs([]string{"version"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "karpenter 1.2.3 (commit abc, " + platform + ")\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
}
