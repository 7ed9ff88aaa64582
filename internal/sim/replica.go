package sim

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/limit"
	"github.com/karpenter-go/karpenter/provider/kwok"
)

// A replica is one process of the operator.
type replica struct {
	link  *link
	stop  context.CancelFunc
	clock *shifted
	done  atomic.Bool
	err   error
	// state are the roots from which all objects of the operator can be reached.
	state []any
}

// A shifted clock is ahead of the bubble's time.
type shifted struct {
	clock.RealClock
	ahead atomic.Int64
}

// jump moves the clock ahead.
func (c *shifted) jump(d time.Duration) { c.ahead.Add(int64(d)) }

// Now implements clock.PassiveClock.
func (c *shifted) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Since implements clock.PassiveClock.
func (c *shifted) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// operate runs the operator until ctx is done.
func (p *processes) operate(ctx context.Context, r *replica) error {
	core, own, err := settingsOf(p.world.scenario.Flags)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(telemetry.LogOptions{Level: p.world.options.LogLevel, Out: &logs{p.world, r.link.name}})
	if err != nil {
		return fmt.Errorf("make logger: %w", err)
	}
	registry := prometheus.NewRegistry()
	rest := p.world.platform.server.RestConfig(kubeLink{r.link})
	// The limiter of client-go passes calls on in the order of goroutines. Faults delay calls as well.
	rest.RateLimiter = flowcontrol.NewFakeAlwaysRateLimiter()
	return operator.Run(ctx, operator.Program{
		Settings: core, Rest: rest, Log: p.quieted(log), Metrics: registry, Clock: r.clock,
		Manager: func(o *ctrl.Options) {
			o.Metrics.BindAddress, o.HealthProbeBindAddress = "0", "0"
			o.Controller = config.Controller{SkipNameValidation: new(true)}
			// The deadline of a renewal is no multiple of the time between two attempts. If both came at the same virtual time, it
			// would be random which of them counts.
			o.RetryPeriod = new(2100 * time.Millisecond)
			o.NewClient = orderLists(o.NewClient)
			o.Cache.NewInformer = (&notifier{driver: p.world.driver, replica: r.link.name}).informer
		},
		Provider: func(ctx context.Context, env operator.Env) (operator.Provider, error) {
			if core.Provider == settings.ProviderKWOK {
				return withoutCloud(env), nil
			}
			return p.provider(ctx, r, env, core, own)
		},
		Made: func(env operator.Env, provider operator.Provider, controllers []operator.Controller) []operator.Controller {
			r.state = []any{env, provider, controllers}
			ordered := make([]operator.Controller, len(controllers))
			for i, c := range controllers {
				ordered[i] = sequenced{c, p.world.driver, r.link.name}
			}
			return ordered
		},
	})
}

// quieted returns a logger that passes only errors to log if the other lines are not written anywhere.
func (p *processes) quieted(log logr.Logger) logr.Logger {
	if p.world.options.Log != nil {
		return log
	}
	return logr.New(errorsOnly{next: log})
}

// errorsOnly is a log sink that passes errors to another logger, and drops everything else. Unlike a handler of slog with the
// level error, it does not format the values of loggers whose lines are dropped.
type errorsOnly struct {
	next   logr.Logger
	names  []string
	values []any
}

// Init implements logr.LogSink.
func (errorsOnly) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (errorsOnly) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (errorsOnly) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (s errorsOnly) Error(err error, message string, values ...any) {
	log := s.next
	for _, name := range s.names {
		log = log.WithName(name)
	}
	log.WithValues(s.values...).Error(err, message, values...)
}

// WithValues implements logr.LogSink.
func (s errorsOnly) WithValues(values ...any) logr.LogSink {
	s.values = append(slices.Clip(s.values), values...)
	return s
}

// WithName implements logr.LogSink.
func (s errorsOnly) WithName(name string) logr.LogSink {
	s.names = append(slices.Clip(s.names), name)
	return s
}

// settingsOf returns the settings of the operator and of the provider for aws, as flags set them.
func settingsOf(args []string) (*settings.Settings, *aws.Settings, error) {
	flags := pflag.NewFlagSet("sim", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	core, own := settings.AddFlags(flags), aws.AddFlags(flags)
	args = append([]string{
		"--cluster-name=" + clusterName, "--cluster-ca-bundle=Q0E=", "--cluster-endpoint=" + endpoint,
		"--interruption-queue=" + clusterName, "--leader-election-namespace=kube-system",
	}, args...)
	if err := flags.Parse(args); err != nil {
		return nil, nil, fmt.Errorf("parse flags: %w", err)
	}
	core.Complete()
	if err := core.Validate(); err != nil {
		return nil, nil, fmt.Errorf("validate settings: %w", err)
	}
	if core.Provider == settings.ProviderKWOK {
		return core, own, nil
	}
	if err := own.Validate(); err != nil {
		return nil, nil, fmt.Errorf("validate settings: %w", err)
	}
	return core, own, nil
}

// withoutCloud makes the provider of nodes without instances.
func withoutCloud(env operator.Env) operator.Provider {
	provider := kwok.New(kwok.Config{
		Client: env.Client, Reader: env.Live, Nodes: env.Writer, Clock: env.Clock, Types: kwok.GenericTypes(), Overlay: env.Overlay,
	})
	return operator.Provider{Cloud: provider, Controllers: []operator.Controller{provider.Later()}}
}

// provider makes the provider for aws over the emulator.
func (p *processes) provider(
	ctx context.Context, r *replica, env operator.Env, core *settings.Settings, own *aws.Settings,
) (operator.Provider, error) {
	versions, err := discovery.NewDiscoveryClientForConfig(env.Rest)
	if err != nil {
		return operator.Provider{}, fmt.Errorf("create discovery client: %w", err)
	}
	limiter := steady{limit.New(nil, env.Clock)}
	s := *own
	s.ReservedCapacity = core.FeatureGates.ReservedCapacity
	s.RelaxMinValues = core.MinValuesPolicy == settings.MinValuesPolicyBestEffort
	provider, err := aws.New(ctx, aws.Config{
		AWS: awssdk.Config{
			Region: region, BaseEndpoint: awssdk.String(awsURL), HTTPClient: cloudLink{r.link},
			Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
			Retryer:     func() awssdk.Retryer { return limiter },
		},
		Client: env.Client, Reader: env.Live, Writer: env.Writer, Discovery: versions, Clock: env.Clock,
		Settings: s, Ledger: env.Ledger, Metrics: env.Metrics, Recorder: recorder{env.Events}, Overlay: env.Overlay,
		Namespace: core.LeaderElectionNamespace,
	})
	if err != nil {
		return operator.Provider{}, fmt.Errorf("make provider: %w", err)
	}
	out := operator.Provider{Cloud: provider}
	for _, c := range provider.Controllers() {
		out.Controllers = append(out.Controllers, c)
	}
	return out, nil
}

// steady is the limiter of the provider, with fixed pauses between retries. The SDK draws random pauses from one source for
// all goroutines, so they would depend on the order of goroutines.
type steady struct{ *limit.Limiter }

// RetryDelay implements aws.Retryer. The pause is 100 ms times 2 to the power of attempt, at most 20 s.
func (steady) RetryDelay(attempt int, _ error) (time.Duration, error) {
	return min(100*time.Millisecond<<min(attempt, 8), 20*time.Second), nil
}

// recorder hands events of the provider to the recorder of the operator.
type recorder struct{ telemetry.Recorder }

func (r recorder) Event(object client.Object, eventType, reason, message string) {
	r.Publish(telemetry.Event{Object: object, Type: eventType, Reason: reason, Message: message})
}

// logs receives the log of a replica, line by line. It passes each line to the judge and to Options.Log.
type logs struct {
	world *World
	name  string
}

// Write takes one line.
func (l *logs) Write(line []byte) (int, error) {
	l.world.judge.quiet.logged(l.name, line)
	if l.world.options.Log != nil {
		return l.world.options.Log.Write(line)
	}
	return len(line), nil
}
