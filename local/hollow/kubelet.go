package hollow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/client"

	"github.com/karpenter-go/karpenter/local/disks"
)

const (
	// hollowNodes selects the nodes to keep alive, by annotation.
	hollowNodes = "kwok.x-k8s.io/node=fake"
	// leaseHolder is the same in every run, so that a restarted kubelet takes over its leases immediately and does not
	// wait until they expire. A node whose lease has another holder gets no heartbeats, and its pods are not run.
	// Tests use that to make a node fail.
	leaseHolder = "karpenter-local"
	// leaseSeconds is the duration of a node's lease. It is renewed after a quarter of this time, as by a kubelet.
	leaseSeconds = 40
	// podCIDR is the range of the addresses of pods on nodes without their own range.
	podCIDR = "10.244.0.0/16"
)

// options are the arguments of the program.
type options struct {
	kubeconfig string
	address    string
}

// Command returns the command that runs the hollow kubelet.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:  "kwok",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster")
	cmd.Flags().StringVar(&o.address, "health-address", "", "Address that serves /healthz, as HOST:PORT")
	return cmd
}

// run acts as the kubelet of hollow nodes until ctx is done.
func (o options) run(ctx context.Context) error {
	ctx = log.NewContext(ctx, log.NewLogger(os.Stderr, log.LevelWarn))
	config, err := o.config()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return fmt.Errorf("listen for health checks: %w", err)
	}
	kubelet, err := controllers.NewController(config)
	if err != nil {
		return errors.Join(fmt.Errorf("make hollow kubelet: %w", err), listener.Close())
	}
	if err := kubelet.Start(ctx); err != nil {
		return errors.Join(fmt.Errorf("start hollow kubelet: %w", err), listener.Close())
	}
	restConfig, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return errors.Join(fmt.Errorf("read kubeconfig: %w", err), listener.Close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHealth(ctx, listener) })
	g.Go(func() error { return disks.Run(ctx, restConfig) })
	return g.Wait()
}

// config connects kwok's controllers to the cluster.
func (o options) config() (controllers.Config, error) {
	stages, err := loadStages(stageFiles)
	if err != nil {
		return controllers.Config{}, err
	}
	clients, err := client.NewClientset("", o.kubeconfig)
	if err != nil {
		return controllers.Config{}, fmt.Errorf("read kubeconfig: %w", err)
	}
	restConfig, err := clients.ToRESTConfig()
	if err != nil {
		return controllers.Config{}, fmt.Errorf("read kubeconfig: %w", err)
	}
	dynamicClient, err1 := clients.ToDynamicClient()
	mapper, err2 := clients.ToRESTMapper()
	restClient, err3 := rest.RESTClientFor(restConfig)
	typed, err4 := kubernetes.NewForConfig(restConfig)
	kwok, err5 := versioned.NewForConfig(restConfig)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return controllers.Config{}, fmt.Errorf("make clients: %w", err)
	}
	return controllers.Config{
		Clock:                             clock.RealClock{},
		DynamicClient:                     dynamicClient,
		RESTClient:                        restClient,
		RESTMapper:                        mapper,
		ImpersonatingDynamicClient:        clients.ToImpersonatingDynamicClient(),
		ImpersonatingTypedClient:          clients.ToImpersonatingTypedClient(),
		TypedClient:                       typed,
		TypedKwokClient:                   kwok,
		ManageNodesWithAnnotationSelector: hollowNodes,
		CIDR:                              podCIDR,
		NodeIP:                            "127.0.0.1",
		LocalStages:                       stages,
		PodPlayStageParallelism:           16,
		NodePlayStageParallelism:          16,
		NodeLeaseDurationSeconds:          leaseSeconds,
		NodeLeaseParallelism:              16,
		PodsOnNodeSyncParallelism:         8,
		ID:                                leaseHolder,
	}, nil
}

// serveHealth answers /healthz until ctx is done.
func serveHealth(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{Handler: mux}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health checks: %w", err)
	}
	return nil
}
