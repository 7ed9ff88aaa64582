package settings

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/internal/flagtype"
)

// AddFlags adds a flag for each setting to fs and returns the settings that parsing sets.
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

// addProcessFlags adds the flags about the process: provider, ports, clients, limits, logs.
func (s *Settings) addProcessFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.Provider, "provider", ProviderAWS, "Cloud provider: aws, clusterapi, kwok (simulated nodes), or remote (in other processes); several are separated by commas")
	fs.StringVar(&s.KarpenterService, "karpenter-service", "", "Not used; accepted for older manifests")
	fs.IntVar(&s.MetricsPort, "metrics-port", 8080, "Port of /metrics")
	flagtype.Bool(fs, &s.MetricsTLS, "metrics-tls", false, "Serve the metrics port by TLS")
	fs.StringVar(&s.MetricsCertificateDir, "metrics-certificate-dir", "",
		"Directory with tls.crt and tls.key for --metrics-tls, read again when they change; empty means a self-signed certificate")
	flagtype.Bool(fs, &s.MetricsAuthentication, "metrics-authentication", false,
		"Serve the metrics port only to bearer tokens that the API server accepts and allows to get the path; needs --metrics-tls")
	fs.IntVar(&s.HealthProbePort, "health-probe-port", 8081, "Port of /healthz and /readyz")
	fs.IntVar(&s.DashboardPort, "dashboard-port", 0, "Port of the dashboard, a read-only web page with an API; 0 means none")
	fs.StringVar(&s.DashboardBindAddress, "dashboard-bind-address", "127.0.0.1",
		"IP address on which the dashboard is served; the default is reached by kubectl port-forward only")
	flagtype.Bool(fs, &s.DashboardAuthentication, "dashboard-authentication", false,
		"Serve the data of the dashboard only to bearer tokens that the API server accepts and allows to get the path")
	fs.IntVar(&s.KubeClientQPS, "kube-client-qps", 200,
		"Maximum requests per second to the API server for each kind of object; five times as many for pod nominations; negative means unlimited")
	fs.IntVar(&s.KubeClientBurst, "kube-client-burst", 300, "Maximum burst of requests to the API server")
	flagtype.Bool(fs, &s.EnableProfiling, "enable-profiling", false, "Serve /debug/pprof on the metrics port")
	flagtype.Bool(fs, &s.DisableControllerWarmup, "disable-controller-warmup", true,
		"No effect, accepted for compatibility: all replicas fill their caches")
	flagtype.Bool(fs, &s.DisableLeaderElection, "disable-leader-election", false,
		"Run without leader election; for a single replica only")
	flagtype.Bool(fs, &s.DisableClusterStateObservability, "disable-cluster-state-observability", false,
		"Omit metrics of single pods, nodes, NodePools and conditions")
	fs.StringVar(&s.LeaderElectionName, "leader-election-name", "karpenter-leader-election", "Name of the Lease of the leader election, in the release namespace")
	fs.StringVar(&s.LeaderElectionNamespace, "leader-election-namespace", "",
		"Namespace of the leader election Lease; empty means the namespace of the pod")
	fs.Int64Var(&s.MemoryLimit, "memory-limit", -1, "Memory limit of the container in bytes; -1 means unknown")
	fs.Int64Var(&s.CPURequests, "cpu-requests", 1000, "CPU request of the container in millicores; sets the number of workers")
	fs.IntVar(&s.MetricsDetailMaxNodes, "metrics-detail-max-nodes", 500,
		"With more nodes, metrics of nodes, NodeClaims and pods are sums without names; 0 means never")
	fs.StringVar(&s.CostAllocationLabel, "cost-allocation-label", "",
		"Key of a pod label, such as team, by which karpenter cost adds up costs too; empty means none")
	fs.StringVar(&s.LogLevel, "log-level", "info", "Log level: debug, info or error")
	fs.StringVar(&s.raw.logOutputPaths, "log-output-paths", "stdout",
		"Comma-separated outputs of logs: stdout, stderr or file names")
	fs.StringVar(&s.raw.logErrorOutputPaths, "log-error-output-paths", "stderr",
		"No effect, accepted for compatibility: outputs of errors of the logger itself")
	fs.StringVar(&s.DecisionLog, "decision-log", "",
		"Output of the decision log as JSON lines: stdout, stderr or a file name; empty means none")
	flagtype.Bool(fs, &s.PublishDecisions, "publish-decisions", true,
		"Write the newest decisions and the settings to ConfigMap karpenter-decisions, for commands such as karpenter timeline and karpenter plan")
}

// addDecisionFlags adds the flags that affect decisions about nodes.
func (s *Settings) addDecisionFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&s.BatchMaxDuration, "batch-max-duration", 10*time.Second, "Maximum duration of a batch of pending pods; 0 means that no pod waits for others")
	fs.DurationVar(&s.BatchIdleDuration, "batch-idle-duration", time.Second,
		"A batch ends when no new pending pod appears for this long; 0 means that no pod waits for others")
	fs.StringVar(&s.raw.preferencePolicy, "preference-policy", string(PreferencePolicyRespect),
		"Respect: preferred affinities and ScheduleAnyway spread constraints of pods count; Ignore: they do not")
	fs.StringVar(&s.raw.minValuesPolicy, "min-values-policy", string(MinValuesPolicyStrict),
		"Strict: do not launch if minValues cannot be met; BestEffort: relax minValues")
	fs.StringVar(&s.Mode, "enforcement-mode", ModeAuto,
		"Default mode of NodePools without annotation ext.karpenter.sh/enforcement-mode: Auto executes, DryRun only reports, "+
			"Approve waits for approval annotations")
	fs.Float64Var(&s.NodeOverheadCost, "node-overhead-cost", 0,
		"Fixed cost per node in USD/h added when plans are compared (volumes, agents, licences); not part of reported prices")
	flagtype.CPU(fs, &s.MaxNodeCPU, "max-node-cpu", 0, "Maximum cpu of a new node as a quantity, such as 64; 0 means unlimited")
	fs.Float64Var(&s.NewNodeHeadroom, "new-node-headroom", 0, "Fraction (0 to 0.5) of cpu and memory kept free on new nodes, "+
		"for a scheduler that does not follow nominations; costs rise by about the same fraction")
	flagtype.Bool(fs, &s.NominatePods, "nominate-pods", true,
		"Set status.nominatedNodeName of planned pods, and open target nodes of moved pods one at a time")
	flagtype.Bool(fs, &s.PauseLaunches, "pause-launches", false, "Stop launching nodes, replacements included")
	flagtype.Bool(fs, &s.PauseDisruption, "pause-disruption", false, "Stop voluntary disruption (expiry and node repair continue)")
	fs.IntVar(&s.MaxLaunchesPerMinute, "max-launches-per-minute", 0,
		"Maximum nodes launched for pending pods and static NodePools per minute; 0 means unlimited")
	fs.IntVar(&s.MaxDisruptionsPerMinute, "max-disruptions-per-minute", 0,
		"Maximum nodes disrupted voluntarily per minute; 0 means unlimited")
	fs.IntVar(&s.MaxReplacementsPerMinute, "max-replacements-per-minute", 0,
		"Maximum replacement nodes launched per minute; 0 means unlimited")
	flagtype.Bool(fs, &s.IgnoreDRARequests, "ignore-dra-requests", true,
		"If false, nodes are initialized only after the drivers of dynamic resources that their NodeClaims name have published "+
			"their devices, and DaemonSets with spec.resourceClaims count as overhead of nodes; other pods with "+
			"spec.resourceClaims are refused in any case")
	flagtype.Bool(fs, &s.LegacyNodeRepair, "legacy-node-repair", false,
		"With gate NodeRepair: terminate unhealthy nodes at once, without budgets and before a replacement exists")
	fs.StringVar(&s.raw.featureGates, "feature-gates", "", "Feature gates as Name=true,Name=false")
	fs.StringVar(&s.raw.schedulerConfig, "scheduler-config", "",
		"Default topology spread constraints of kube-scheduler, as YAML or JSON of a podTopologySpread")
}

// variables maps the names of flags to those of their environment variables.
func variables() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"provider", "karpenter-service", "metrics-port", "metrics-tls", "metrics-certificate-dir", "metrics-authentication", "health-probe-port", "dashboard-port", "dashboard-bind-address", "dashboard-authentication", "kube-client-qps", "kube-client-burst",
		"enable-profiling", "disable-controller-warmup", "disable-leader-election",
		"disable-cluster-state-observability", "leader-election-name", "leader-election-namespace", "memory-limit",
		"cpu-requests", "log-level", "log-output-paths", "log-error-output-paths", "batch-max-duration",
		"batch-idle-duration", "preference-policy", "min-values-policy", "ignore-dra-requests", "legacy-node-repair", "feature-gates",
		"scheduler-config", "pause-launches", "max-launches-per-minute", "pause-disruption", "max-disruptions-per-minute", "max-replacements-per-minute",
		"cost-allocation-label", "metrics-detail-max-nodes", "node-overhead-cost", "max-node-cpu", "new-node-headroom", "nominate-pods", "enforcement-mode", "decision-log", "publish-decisions",
	} {
		m[name] = variable(name)
	}
	m["provider"] = "KARPENTER_PROVIDER" // PROVIDER is too common a name and could be set for another purpose
	return m
}

// Namespace returns the namespace of the process: the value of the variable SYSTEM_NAMESPACE, or else the namespace of
// the lease. It is empty if both are empty.
func (s *Settings) Namespace() string {
	return cmp.Or(os.Getenv("SYSTEM_NAMESPACE"), s.LeaderElectionNamespace)
}

// LeaseNamespace returns the namespace of the lease: that of the setting, or else that of the process. It is empty if both
// are empty.
func (s *Settings) LeaseNamespace() string { return cmp.Or(s.LeaderElectionNamespace, s.Namespace()) }

func variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// readEnvironment sets each flag that was not given to the value of its environment variable, as getenv returns it. An
// invalid value is recorded as an error.
func (s *Settings) readEnvironment(getenv func(string) string) {
	envs := variables()
	s.unread = map[string]bool{}
	s.flags.VisitAll(func(f *pflag.Flag) {
		env, ours := envs[f.Name]
		value := getenv(env)
		if !ours || f.Changed || value == "" {
			return
		}
		if err := f.Value.Set(value); err != nil {
			s.fail(f.Name, flagtype.Mismatch(value, f.Value))
			s.unread[f.Name] = true
		}
	})
}

// fail records an error about the setting of a flag.
func (s *Settings) fail(flag string, err error) {
	if s.unread[flag] {
		return // the variable is already reported as invalid, and the value is the default
	}
	s.errs = append(s.errs, fmt.Errorf("--%s (%s): %w", flag, variables()[flag], err))
	s.failed = append(s.failed, flag)
}
