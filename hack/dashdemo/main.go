// Command dashdemo serves the dashboard of a generated fleet of nodes that changes all the time. It needs no cluster.
// It is for the development of the page and for measurements of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/internal/dashboard"
	"github.com/karpenter-go/karpenter/internal/dashboard/sample"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dashdemo:", err)
		os.Exit(1)
	}
}

func run() error {
	nodes := flag.Int("nodes", 60, "number of nodes")
	pods := flag.Int("pods", 900, "number of pods")
	rate := flag.Int("rate", 20, "changes of pods per second; 0 means that nothing changes")
	seed := flag.Uint64("seed", 1, "seed of the cluster")
	address := flag.String("address", "127.0.0.1:8099", "address on which the dashboard is served")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fleet := sample.New(clock.RealClock{}, *nodes, *pods, *seed)
	server, err := dashboard.New(fleet.Options(), nil)
	if err != nil {
		return fmt.Errorf("make dashboard: %w", err)
	}
	go func() { _ = server.Run(ctx) }() // it ends without an error
	web := &http.Server{Addr: *address, Handler: server.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = web.Close()
	}()
	go change(ctx, fleet, *rate)
	fmt.Printf("http://%s/ with %d nodes and %d pods\n", *address, *nodes, *pods)
	if err := web.ListenAndServe(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// change makes rate changes of pods per second, in ten steps, until the context is done. Every ten seconds it computes
// the decisions again, unless rate is 0.
func change(ctx context.Context, fleet *sample.Fleet, rate int) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	owed := 0
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		owed += rate
		fleet.Step(owed / 10)
		owed %= 10
		if i%100 == 0 && rate > 0 {
			fleet.Decide()
		}
	}
}
