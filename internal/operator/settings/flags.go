package settings

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// AddFlags adds a flag for every setting to fs and returns the settings that they will fill.
func AddFlags(fs *pflag.FlagSet) *Settings {
	s := &Settings{flags: fs}
	s.addProcessFlags(fs)
	s.addDecisionFlags(fs)
	for name, env := range variables() {
		flag := fs.Lookup(name)
		flag.Usage += " [" + env + "]"
	}
	return s
}

// addProcessFlags adds what concerns the process: ports, clients, limits, logs.
func (s *Settings) addProcessFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.Provider, "provider", ProviderAWS, "where nodes come from: aws, or kwok for nodes without machines")
	fs.StringVar(&s.KarpenterService, "karpenter-service", "", "not used, accepted for old manifests")
	fs.IntVar(&s.MetricsPort, "metrics-port", 8080, "port of /metrics")
	fs.IntVar(&s.HealthProbePort, "health-probe-port", 8081, "port of /healthz and /readyz")
	fs.IntVar(&s.KubeClientQPS, "kube-client-qps", 200, "requests a second to the API server, of each kind of object; nominations may have five times as many")
	fs.IntVar(&s.KubeClientBurst, "kube-client-burst", 300, "requests at once to the API server")
	strictBool(fs, &s.EnableProfiling, "enable-profiling", false, "serve /debug/pprof on the metrics port")
	strictBool(fs, &s.DisableControllerWarmup, "disable-controller-warmup", true,
		"do not fill caches before this replica leads")
	strictBool(fs, &s.DisableLeaderElection, "disable-leader-election", false,
		"run without a lease; only for a single replica")
	strictBool(fs, &s.DisableClusterStateObservability, "disable-cluster-state-observability", false,
		"leave out metrics of single pods, nodes, pools and conditions")
	fs.StringVar(&s.LeaderElectionName, "leader-election-name", "karpenter-leader-election", "name of the lease")
	fs.StringVar(&s.LeaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the lease, by default that of the pod")
	fs.Int64Var(&s.MemoryLimit, "memory-limit", -1, "memory limit of the container in bytes")
	fs.Int64Var(&s.CPURequests, "cpu-requests", 1000, "CPU request of the container in millicores; sets the workers")
	fs.StringVar(&s.LogLevel, "log-level", "info", "debug, info or error")
	fs.StringVar(&s.raw.logOutputPaths, "log-output-paths", "stdout", "where logs go, separated by commas")
	fs.StringVar(&s.raw.logErrorOutputPaths, "log-error-output-paths", "stderr",
		"where errors of logging go, separated by commas")
}

// addDecisionFlags adds what changes decisions about nodes.
func (s *Settings) addDecisionFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&s.BatchMaxDuration, "batch-max-duration", 10*time.Second, "longest time that pods are gathered for")
	fs.DurationVar(&s.BatchIdleDuration, "batch-idle-duration", time.Second,
		"time without a new pod after which a round begins")
	fs.StringVar(&s.raw.preferencePolicy, "preference-policy", string(PreferencePolicyRespect),
		"what becomes of preferences of pods: Respect or Ignore")
	fs.StringVar(&s.raw.minValuesPolicy, "min-values-policy", string(MinValuesPolicyStrict),
		"what becomes of a minValues that cannot be met: Strict or BestEffort")
	fs.StringVar(&s.Mode, "enforcement-mode", ModeAuto,
		"what becomes of decisions about pools that say nothing themselves: Auto, DryRun or Approve")
	fs.Float64Var(&s.NodeOverheadCost, "node-overhead-cost", 0,
		"what a node costs an hour besides its price, in dollars: its volume, agents, licences")
	fs.Int64Var(&s.MaxNodeCPU, "max-node-cpu", 0, "most cores that a new node may have; 0 for any")
	fs.Float64Var(&s.NewNodeHeadroom, "new-node-headroom", 0, "share of the cpu and memory of new nodes that plans leave free, 0 to 0.5, "+
		"for a scheduler that does not go by nominations; costs about as much more")
	strictBool(fs, &s.NominatePods, "nominate-pods", true,
		"nominate pods to the nodes that they were planned for, and give pods that move one place at a time, so that the scheduler "+
			"follows the plan; that of Kubernetes 1.33 and later does")
	strictBool(fs, &s.PauseLaunches, "pause-launches", false, "launch no node, whatever for")
	strictBool(fs, &s.PauseDisruption, "pause-disruption", false, "disrupt no node by choice")
	fs.IntVar(&s.MaxLaunchesPerMinute, "max-launches-per-minute", 0,
		"most nodes launched for waiting pods within a minute; 0 for no bound")
	fs.IntVar(&s.MaxDisruptionsPerMinute, "max-disruptions-per-minute", 0,
		"most nodes disrupted by choice within a minute; 0 for no bound")
	fs.IntVar(&s.MaxReplacementsPerMinute, "max-replacements-per-minute", 0,
		"most nodes launched in the place of others within a minute; 0 for no bound")
	strictBool(fs, &s.IgnoreDRARequests, "ignore-dra-requests", true, "leave out pods that claim dynamic resources")
	fs.StringVar(&s.raw.featureGates, "feature-gates", "", "feature gates, as Name=true,Name=false")
	fs.StringVar(&s.raw.schedulerConfig, "scheduler-config", "",
		"defaults for topology spread, as YAML or JSON of a podTopologySpread")
}

// variables maps the names of flags to those of their environment variables.
func variables() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"provider", "karpenter-service", "metrics-port", "health-probe-port", "kube-client-qps", "kube-client-burst",
		"enable-profiling", "disable-controller-warmup", "disable-leader-election",
		"disable-cluster-state-observability", "leader-election-name", "leader-election-namespace", "memory-limit",
		"cpu-requests", "log-level", "log-output-paths", "log-error-output-paths", "batch-max-duration",
		"batch-idle-duration", "preference-policy", "min-values-policy", "ignore-dra-requests", "feature-gates",
		"scheduler-config", "pause-launches", "max-launches-per-minute", "pause-disruption", "max-disruptions-per-minute", "max-replacements-per-minute",
		"node-overhead-cost", "max-node-cpu", "new-node-headroom", "nominate-pods", "enforcement-mode",
	} {
		m[name] = variable(name)
	}
	m["provider"] = "KARPENTER_PROVIDER" // PROVIDER alone is too common to read by accident
	return m
}

// Namespace is the one that the process runs in, empty if that is not known: that of the variable SYSTEM_NAMESPACE, else that
// of its lease.
func (s *Settings) Namespace() string {
	return cmp.Or(os.Getenv("SYSTEM_NAMESPACE"), s.LeaderElectionNamespace)
}

func variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// readEnvironment sets the flags that were not given from their variables.
func (s *Settings) readEnvironment() {
	envs := variables()
	s.flags.VisitAll(func(f *pflag.Flag) {
		env, ours := envs[f.Name]
		value := os.Getenv(env)
		if !ours || f.Changed || value == "" {
			return
		}
		if err := f.Value.Set(value); err != nil {
			s.fail(f.Name, fmt.Errorf("%q is not of type %s", value, f.Value.Type()))
		}
	})
}

// fail notes an error about the setting of a flag.
func (s *Settings) fail(flag string, err error) {
	s.errs = append(s.errs, fmt.Errorf("--%s (%s): %w", flag, variables()[flag], err))
}

// strictBool adds a boolean flag that needs a value. Without one the flag would swallow nothing and mean true, but
// "--flag false" would then mean true as well.
func strictBool(fs *pflag.FlagSet, p *bool, name string, value bool, usage string) {
	*p = value
	fs.Var((*boolean)(p), name, usage)
}

// boolean is a pflag.Value without pflag's rule that a bare flag means true.
type boolean bool

func (b *boolean) String() string { return strconv.FormatBool(bool(*b)) }
func (b *boolean) Type() string   { return "true|false" }

func (b *boolean) Set(text string) error {
	v, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is not true or false", text)
	}
	*b = boolean(v)
	return nil
}
