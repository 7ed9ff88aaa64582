// Package remotetest connects a provider to its test by a socket. So the tests of a provider also check that the protocol
// supports all that the provider does.
package remotetest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/remote"
	"github.com/karpenter-go/karpenter/provider/remote/serve"
)

// Over serves the provider on a socket and returns a client of it. Both are closed when the test ends.
func Over(t testing.TB, p cloud.Provider, reader client.Reader) *remote.Provider {
	t.Helper()
	dir, err := os.MkdirTemp("", "remote") // in the system's directory, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := serve.New(serve.Config{Provider: p, Version: "test", Clock: clock.RealClock{}, Log: logr.Discard()}).Register(nil)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	c, err := remote.Connect(t.Context(), remote.Config{
		Address: "unix://" + path, Reader: reader, Clock: clock.RealClock{}, Metrics: remote.NewMetrics(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
