package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	// profileSeconds is the length of one CPU profile. The profiles of a run follow one another.
	profileSeconds = 5
	// scrapeEvery is the interval at which metrics are read, as by Prometheus.
	scrapeEvery = 15 * time.Second
)

// The files that Options.Profiles has after a run: CPU profiles with a number, the allocations since the start, the metrics at
// the end in the text format of Prometheus, and the events of the cluster as a list in JSON.
const (
	CPUProfiles = "cpu-*.pb.gz"
	Allocations = "allocs.pb.gz"
	Metrics     = "metrics.txt"
	Events      = "events.json"
)

// freePort returns a port that no process listens on.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close() // the controller listens on it
	return l.Addr().(*net.TCPAddr).Port, nil
}

// upProfiled starts the cluster, and records profiles of the controller in dir as profile does. If dir is empty, it records
// none.
func (c *Cluster) upProfiled(ctx context.Context, dir string) (end func() error, err error) {
	if dir == "" {
		return func() error { return nil }, c.Up(ctx)
	}
	if c.MetricsPort, err = freePort(ctx); err != nil {
		return nil, err
	}
	if err := c.Up(ctx); err != nil {
		return nil, err
	}
	return c.profile(ctx, dir), nil
}

// profile records CPU profiles of the controller in the directory, and reads its metrics at intervals, until the returned
// function is called. That function writes the other files, and returns the errors.
func (c *Cluster) profile(ctx context.Context, dir string) (end func() error) {
	ctx, stop := context.WithCancel(ctx)
	profiled, scraped := make(chan error, 1), make(chan error, 1)
	go func() {
		err := os.Mkdir(dir, 0o755)
		for i := 0; err == nil && ctx.Err() == nil; i++ {
			path := fmt.Sprintf("debug/pprof/profile?seconds=%d", profileSeconds)
			err = c.fetch(context.WithoutCancel(ctx), path, filepath.Join(dir, fmt.Sprintf("cpu-%03d.pb.gz", i)))
		}
		profiled <- err
	}()
	go func() {
		ticks := time.NewTicker(scrapeEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				scraped <- nil
				return
			case <-ticks.C:
			}
			if err := c.fetch(context.WithoutCancel(ctx), "metrics", os.DevNull); err != nil {
				scraped <- err
				return
			}
		}
	}()
	return func() error {
		stop()
		err := errors.Join(<-profiled, <-scraped)
		ctx := context.WithoutCancel(ctx)
		return errors.Join(err,
			c.fetch(ctx, "debug/pprof/allocs", filepath.Join(dir, Allocations)),
			c.fetch(ctx, "metrics", filepath.Join(dir, Metrics)),
			c.writeEvents(ctx, filepath.Join(dir, Events)))
	}
}

// writeEvents writes the events of the cluster to a file.
func (c *Cluster) writeEvents(ctx context.Context, file string) error {
	list, err := c.local(ctx, nil, "kubectl", "get", "events", "--all-namespaces", "-o", "json")
	if err != nil {
		return err
	}
	return os.WriteFile(file, list, 0o644)
}

// fetch writes the answer of the controller to a file.
func (c *Cluster) fetch(ctx context.Context, path, file string) error {
	url := fmt.Sprintf("http://127.0.0.1:%d/%s", c.MetricsPort, path)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("read %s: %w", url, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("read %s: %s", url, answer.Status)
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, answer.Body)
	return errors.Join(err, out.Close())
}
