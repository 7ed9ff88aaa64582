package awsemu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
)

// ProcessOptions are the options of an emulator that runs as its own process.
type ProcessOptions struct {
	Addr       string // host:port to listen on; port 0 takes a free one
	Kubeconfig string // of an administrator of the cluster; empty: no machines boot
	Region     string
	Seed       uint64
	Throttle   string   // see Config.Throttle
	Queue      string   // default: the cluster's name
	Roles      []string // default: KarpenterNodeRole-<cluster>

	// The cluster, as EKS describes it and as user data must describe it.
	ClusterName, ClusterEndpoint string
	CA                           string // base64 of the PEM bundle
	ServiceCIDR                  string
	Version                      string // Kubernetes minor version, such as 1.36

	BootDelay time.Duration // running -> node registers, default 3s
	// AdoptDelay is the time from the registration until the cloud controller handles the Node, default 1s.
	AdoptDelay time.Duration
	Timing     Timing

	// Ready is called once, with the address on which the server listens.
	Ready func(addr string)
	Log   *slog.Logger
}

// Run serves the emulator and boots its machines until ctx is done.
func Run(ctx context.Context, o ProcessOptions) error {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	e, err := New(Config{
		Seed: o.Seed, Region: o.Region, Queue: o.Queue, Roles: o.Roles, Timing: o.Timing, Throttle: o.Throttle,
		Cluster: Cluster{
			Name: o.ClusterName, Endpoint: o.ClusterEndpoint, CA: o.CA, Version: o.Version, ServiceCIDR: o.ServiceCIDR,
		},
	})
	if err != nil {
		return fmt.Errorf("make emulator: %w", err)
	}
	var machines *machine.Runner
	if o.Kubeconfig != "" {
		if machines, err = o.machines(e); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.Addr, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	server := &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		// Close is used instead of Shutdown, which would wait for hanging calls.
		return server.Close()
	})
	if machines != nil {
		group.Go(func() error { return machines.Run(ctx) })
	}
	o.Log.Info("AWS emulator is ready", "address", listener.Addr().String(), "cluster", e.cfg.Cluster.Name)
	if o.Ready != nil {
		o.Ready(listener.Addr().String())
	}
	return group.Wait()
}

// Machines returns a Runner that boots the account's instances and joins them to a cluster.
func (e *Emulator) Machines(cfg machine.Config) *machine.Runner {
	c := e.cfg.Cluster
	cfg.Clock, cfg.Cloud = e.cfg.Clock, hardware{e}
	cfg.Cluster = machine.Cluster{Name: c.Name, Endpoint: c.Endpoint, CA: c.CA, ServiceCIDR: c.ServiceCIDR, Version: c.Version}
	return machine.New(cfg)
}

// machines returns a Runner with a client of the cluster.
func (o ProcessOptions) machines(e *Emulator) (*machine.Runner, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", o.Kubeconfig, err)
	}
	config.QPS, config.Burst = 500, 1000 // many nodes may register at once
	config.UserAgent = "awsemu"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	return e.Machines(machine.Config{Client: client, BootDelay: o.BootDelay, AdoptDelay: o.AdoptDelay, Log: o.Log}), nil
}
