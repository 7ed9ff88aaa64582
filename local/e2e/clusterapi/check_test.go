package clusterapi

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/local/cluster"
)

// Served over a socket, the provider passes provider check, with Cluster API's own controllers and NodeClaims in a real cluster.
func TestCheckOfServedProvider(t *testing.T) {
	long(t)
	s := newScene(t, "served")
	t.Cleanup(func() { // before the scene ends, which needs the controller
		if err := place.Cluster.Up(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := place.Cluster.Kill(t.Context(), cluster.ControllerName); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "capi") // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := "unix://" + filepath.Join(dir, "s")
	place.Start(t, "karpenter", "provider", "serve", "--provider=clusterapi", "--listen="+address)
	out, err := place.Program(t, "", "karpenter", "provider", "check", address, "--nodepool", s.Name)
	if err != nil || !strings.Contains(out, "All 19 checks passed or were skipped.") {
		t.Errorf("provider check: %v\n%s", err, out)
	}
}
