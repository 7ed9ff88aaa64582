package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/apiclock"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/tracing"
)

// A Controller is a reconciler that can add itself to a manager.
type Controller interface {
	Name() string
	Register(mgr ctrl.Manager) error
}

// A Provider is a cloud.Provider with its controllers. If it is a cloud.Notifier, the program acts on its notices.
type Provider struct {
	Cloud       cloud.Provider
	Controllers []Controller
}

// An Env has the dependencies that the program passes to a provider, and to Instead and Made.
type Env struct {
	// Client reads from the cache. Its reads include its own patches of nodes and claims, see act.OwnWrites. Live reads
	// from the API server.
	Client client.Client
	Live   client.Reader
	Rest   *rest.Config
	// Clock is the earlier of the machine's clock and the API server's, see apiclock.
	Clock  clock.WithDelayedExecution
	Events telemetry.Recorder
	// Metrics registers the metrics of the provider.
	Metrics prometheus.Registerer
	// Ledger records launches on claims before they are made.
	Ledger act.Ledger
	// Writer writes claims and nodes.
	Writer act.Writer
	// Overlay applies NodeOverlays to instance types; nil if the feature is off.
	Overlay cloud.Overlay
	Log     logr.Logger
}

// A Clock is the clock of the program.
type Clock interface {
	clock.WithTicker
	clock.WithDelayedExecution
}

// A Program has the settings and dependencies of Run.
type Program struct {
	Settings *settings.Settings
	Rest     *rest.Config
	Log      logr.Logger
	// Panics counts the panics that Log has logged; nil if Log does not count them.
	Panics *telemetry.Panics
	// Version is shown in logs, metrics and the user agent.
	Version Version
	// ClusterName is shown by the dashboard; empty if it is not known.
	ClusterName string
	// Kinds are the kinds of the provider's custom resources. The program waits until they are served, besides NodePools and NodeClaims.
	Kinds []schema.GroupVersionKind
	// Provider creates the provider. It may call the cloud and fail.
	Provider func(ctx context.Context, env Env) (Provider, error)
	// Instead, if not nil, returns the controllers that run instead of those of Karpenter, besides those of the provider.
	Instead func(Env, Provider) []Controller
	// Decisions is the output of the decision log, as JSON lines; nil means none.
	Decisions io.Writer
	// Tracer creates spans; nil creates none.
	Tracer *tracing.Tracer
	// Metrics is the registry for the metrics; nil means the registry that the manager serves.
	Metrics prometheus.Registerer
	// Clock is the clock of the process; nil means the machine's clock.
	Clock Clock
	// Manager changes the options of the manager; nil means no change. Simulations use it to run several programs without
	// ports in one process.
	Manager func(*ctrl.Options)
	// Made, if not nil, is called with the provider and the controllers before they are registered, and returns the controllers
	// to run. It is not called if Instead is set. Simulations use it to count the entries of their caches, and to order their
	// reconciliations.
	Made func(Env, Provider, []Controller) []Controller
}

// A Version identifies a build.
type Version struct {
	Number, Commit string
}

// Run runs the program until ctx is done. It returns an error if the program cannot start, if the manager ends early, such as
// when it loses its Lease, or if the API server was restored to an earlier state.
func Run(ctx context.Context, p Program) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	err := run(ctx, p, end)
	if restored := (*restoredError)(nil); errors.As(context.Cause(ctx), &restored) {
		return fmt.Errorf("run: %w", restored)
	}
	return err
}

// run is Run. It calls end if the API server was restored to an earlier state.
func run(ctx context.Context, p Program, end func(error)) error {
	ctrl.SetLogger(p.Log)
	klog.SetLogger(p.Log)
	if limit, ok := p.Settings.SoftMemoryLimit(); ok {
		debug.SetMemoryLimit(limit)
	}
	for _, w := range p.Settings.Warnings() {
		p.Log.Info(w)
	}
	if p.Metrics == nil {
		p.Metrics = ctrlmetrics.Registry
	}
	if p.Clock == nil {
		p.Clock = clock.RealClock{}
	}
	now := apiclock.New(p.Clock, p.Log.WithName("clock"))
	p.Rest = rest.CopyConfig(p.Rest)
	p.Rest.Wrap(now.Wrap)
	if err := awaitKinds(ctx, p); err != nil || ctx.Err() != nil {
		return err
	}
	mgr, err := newManager(ctx, p, end)
	if err != nil {
		return err
	}
	if err := addIndexes(ctx, mgr); err != nil {
		return err
	}
	events, err := eventRecorder(ctx, mgr, p.Clock)
	if err != nil {
		return err
	}
	log := decisions.New(now, p.Decisions)
	events = decisions.Tee{Next: events, Log: log}
	env := Env{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Rest: mgr.GetConfig(), Clock: now,
		Events: events, Metrics: p.Metrics, Ledger: act.Ledger{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Writer: act.Writer{Client: mgr.GetClient()}, Log: p.Log,
	}
	f, err := featuresOf(ctx, mgr, p.Settings, p.Log)
	if err != nil {
		return err
	}
	env.Overlay = f.overlay()
	provider, err := p.Provider(ctx, env)
	if err != nil {
		return fmt.Errorf("start provider %s: %w", p.Settings.Provider, err)
	}
	if p.Instead != nil {
		if f.overlays != nil {
			f.overlays.Labels = apiv1.CoreLabels().With(provider.Cloud.Facts().Labels)
		}
		return start(ctx, mgr, p, provider, append(p.Instead(env, provider), provider.Controllers...))
	}
	all, err := controllers(ctx, mgr, p, env, f, provider, log)
	if err != nil {
		return err
	}
	if p.Made != nil {
		all = p.Made(env, provider, all)
	}
	return start(ctx, mgr, p, provider, all)
}

// start registers the controllers and runs the manager until ctx is done.
func start(ctx context.Context, mgr ctrl.Manager, p Program, provider Provider, all []Controller) error {
	for _, c := range all {
		if err := c.Register(mgr); err != nil {
			return fmt.Errorf("register controller %s: %w", c.Name(), err)
		}
	}
	p.Log.Info("starting", "version", p.Version.Number, "provider", provider.Cloud.Name(), "controllers", len(all))
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// newManager returns the manager with its clients, ports, lease and probes. It calls end if the API server was restored to an
// earlier state.
func newManager(ctx context.Context, p Program, end func(error)) (ctrl.Manager, error) {
	s := p.Settings
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Kubernetes kinds: %w", err)
	}
	config := rest.CopyConfig(p.Rest)
	config.QPS, config.Burst = float32(s.KubeClientQPS), s.KubeClientBurst
	config.UserAgent = "karpenter/" + p.Version.Number
	leaseConfig := rest.CopyConfig(p.Rest)
	leaseConfig.UserAgent = "karpenter-lease/" + p.Version.Number
	lock, err := newLock(leaseConfig, s, end)
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme:   scheme,
		Logger:   p.Log,
		NewCache: newCache(ctx),
		Cache:    cache.Options{DefaultTransform: observe.NewSharer().Transform},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.New(config, options)
			if err != nil {
				return nil, fmt.Errorf("make client: %w", err)
			}
			return act.OwnWrites(c, p.Clock), nil
		},
		Metrics:                       metricsServer(s, p.Clock),
		HealthProbeBindAddress:        address(s.HealthProbePort),
		LeaderElection:                !s.DisableLeaderElection,
		LeaderElectionID:              s.LeaderElectionName,
		LeaderElectionNamespace:       s.LeaderElectionNamespace,
		RenewDeadline:                 new(renewDeadline),
		LeaderElectionReleaseOnCancel: true,
	}
	if lock != nil {
		options.LeaderElectionResourceLockInterface = lock
	}
	if p.Manager != nil {
		p.Manager(&options)
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	if lock != nil {
		//lint:ignore SA1019 the recorder of events.k8s.io does not implement the interface of the lock
		lock.LockConfig.EventRecorder = mgr.GetEventRecorderFor(lock.Identity())
	}
	ready := func(req *http.Request) error { return serves(req.Context(), mgr) }
	if err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("crds", ready),
	); err != nil {
		return nil, fmt.Errorf("add probes: %w", err)
	}
	return mgr, nil
}

// serves returns an error unless the caches are complete and the API server serves NodePools and NodeClaims.
func serves(ctx context.Context, mgr ctrl.Manager) error {
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("caches are not filled yet")
	}
	for _, kind := range []client.Object{&apiv1.NodePool{}, &apiv1.NodeClaim{}} {
		gvk, err := mgr.GetClient().GroupVersionKindFor(kind)
		if err != nil {
			return fmt.Errorf("group of kind %s: %w", api.Kind(kind), err)
		}
		if _, err := mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return fmt.Errorf("%s is not served: %w", gvk.Kind, err)
		}
	}
	return nil
}

func address(port int) string { return fmt.Sprintf(":%d", port) }
