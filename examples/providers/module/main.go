// Command shed is a provider in a repository of its own: a Go module that implements cloud.Provider and offers it to Karpenter
// over a socket. Its machines exist only in its memory. It imports public packages of Karpenter only, and needs no access to
// the cluster.
//
//	cd examples/providers/module
//	go test ./...
//	go run . -listen unix:///tmp/shed.sock
//	karpenter provider check unix:///tmp/shed.sock
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote/serve"
)

func main() {
	address := flag.String("listen", "unix:///tmp/shed.sock", "address: unix:///path, or host:port with TLS")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := serve.NewController(config(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))), serve.Listener{Address: *address})
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// config returns what is served: an empty shed, which gets its node classes from Karpenter.
func config(logger logr.Logger) serve.Config {
	classes := &serve.Classes{Validate: validate, Examples: []*unstructured.Unstructured{example()}}
	return serve.Config{
		Provider: &Shed{Classes: classes, Clock: clock.RealClock{}}, Classes: classes, Version: "1.0.0", Clock: clock.RealClock{}, Log: logger,
		Without: []cloudv1.Capability{cloudv1.Capability_CAPABILITY_REBOOT, cloudv1.Capability_CAPABILITY_REGISTRATION},
	}
}
