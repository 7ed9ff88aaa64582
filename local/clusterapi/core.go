package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	"sigs.k8s.io/cluster-api/core/setup"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// name is the name of this client in the log of the API server.
	name = "cluster-api"
	// qps and burst are high, so that measurements show the speed of Karpenter.
	qps, burst = 1000, 2000
	// workers is the number of objects of each kind that are reconciled at the same time.
	workers = 20
	// syncPeriod is the interval at which all objects are reconciled again.
	syncPeriod = 10 * time.Minute
	// connectionGrace and conditionsGrace have the default values of Cluster API.
	connectionGrace = 50 * time.Second
	conditionsGrace = 5 * time.Minute
)

// options are the arguments of the program.
type options struct {
	kubeconfig string
	workload   string
	address    string
	boot       time.Duration
}

// Command returns the command that runs Cluster API.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:  "clusterapi",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster")
	flags.StringVar(&o.workload, "workload-kubeconfig", "", "Kubeconfig of the cluster that the nodes join, if it is another one")
	flags.StringVar(&o.address, "health-address", "", "Address that serves /healthz, as HOST:PORT")
	flags.DurationVar(&o.boot, "nodes-boot", 3*time.Second, "Time from the creation of a machine to its node")
	return cmd
}

// run executes the controllers until ctx is done.
func (o options) run(ctx context.Context) error {
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr)))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS, config.Burst = qps, burst
	scheme := Scheme()
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Logger: log, HealthProbeBindAddress: o.address, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: setup.ManagerCacheOptions(scheme, name, "", syncPeriod), Client: setup.ManagerClientOptions(),
	})
	if err != nil {
		return fmt.Errorf("make manager: %w", err)
	}
	ctx = logr.NewContext(ctx, log)
	nodes, err := o.nodes(mgr)
	if err != nil {
		return err
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), addCore(ctx, mgr), addHollow(mgr, nodes, o.boot)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// nodes returns the client of the cluster that the nodes join.
func (o options) nodes(mgr ctrl.Manager) (client.Writer, error) {
	if o.workload == "" {
		return mgr.GetClient(), nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.workload)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the workload cluster: %w", err)
	}
	config.QPS, config.Burst = qps, burst
	c, err := client.New(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return nil, fmt.Errorf("make client of the workload cluster: %w", err)
	}
	return c, nil
}

// Scheme returns the kinds of Kubernetes and Cluster API.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	utilruntime.Must(clusterv1.AddToScheme(s))
	return s
}

// addCore adds Cluster API's own controllers to mgr.
func addCore(ctx context.Context, mgr ctrl.Manager) error {
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		return fmt.Errorf("index Machines: %w", err)
	}
	secrets, err := setup.CreateSecretCachingClient(mgr)
	if err != nil {
		return fmt.Errorf("make client of secrets: %w", err)
	}
	o := controller.Options{MaxConcurrentReconciles: workers}
	clusters, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: secrets, Cache: setup.ClusterCacheCacheOptions(), Client: setup.ClusterCacheClientOptions(name, qps, burst),
	}, o)
	if err != nil {
		return fmt.Errorf("add cache of clusters: %w", err)
	}
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	return errors.Join(
		(&cluster.Reconciler{Client: c, APIReader: live, ClusterCache: clusters, RemoteConnectionGracePeriod: connectionGrace}).SetupWithManager(ctx, mgr, o),
		(&machine.Reconciler{Client: c, APIReader: live, ClusterCache: clusters, RemoteConditionsGracePeriod: conditionsGrace}).SetupWithManager(ctx, mgr, o),
		(&machineset.Reconciler{Client: c, APIReader: live, ClusterCache: clusters}).SetupWithManager(ctx, mgr, o),
		(&machinedeployment.Reconciler{Client: c, APIReader: live}).SetupWithManager(ctx, mgr, o),
	)
}
