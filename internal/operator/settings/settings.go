package settings

import (
	"time"

	"github.com/spf13/pflag"
)

// Settings are the settings of the controller. AddFlags, Complete and Validate must be called in this order. The flags are
// parsed after AddFlags. After Validate, the struct is only read.
type Settings struct {
	// Provider is the cloud, or several separated by commas: ProviderAWS, ProviderKWOK, ProviderClusterAPI, ProviderRemote.
	Provider string
	// KarpenterService is not used. It is accepted for older manifests.
	KarpenterService string

	// MetricsPort and HealthProbePort are TCP ports. 0 chooses a free port.
	MetricsPort     int
	HealthProbePort int
	// MetricsTLS serves the metrics port by TLS, with the certificate tls.crt and key tls.key in MetricsCertificateDir.
	MetricsTLS            bool
	MetricsCertificateDir string
	// MetricsAuthentication serves the metrics port only to users that the API server authenticates and allows to get the path.
	MetricsAuthentication bool
	// DashboardPort is the TCP port of the dashboard, 0 if it is not served. DashboardBindAddress is the address.
	DashboardPort        int
	DashboardBindAddress string
	// DashboardAuthentication serves the data of the dashboard only to users that the API server authenticates and allows to
	// get the path.
	DashboardAuthentication bool
	// KubeClientQPS bounds the average rate of requests to the API server for each kind of object, per second.
	// KubeClientBurst bounds the requests at one time. For nominations of pods, both are multiplied by five.
	KubeClientQPS   int
	KubeClientBurst int

	// EnableProfiling serves /debug/pprof on the metrics port.
	EnableProfiling bool
	// DisableControllerWarmup is accepted for compatibility and has no effect: all replicas fill their caches.
	DisableControllerWarmup bool
	DisableLeaderElection   bool
	// DisableClusterStateObservability disables the metrics of single pods, nodes, pools and conditions, and the events
	// about conditions.
	DisableClusterStateObservability bool
	// LeaderElectionName and LeaderElectionNamespace are the name and namespace of the lease. The default namespace is
	// that of the pod.
	LeaderElectionName      string
	LeaderElectionNamespace string

	// MemoryLimit is the memory limit of the container in bytes. If it is below 1, it is not known. See
	// SoftMemoryLimit.
	MemoryLimit int64
	// CPURequests is the cpu request of the container, in millicores. After Complete it is at least 1.
	CPURequests int64

	// MetricsDetailMaxNodes is the largest number of nodes with which nodes, NodeClaims and pods have metrics of their own.
	// 0 means any number.
	MetricsDetailMaxNodes int
	// CostAllocationLabel is the key of a pod label by which costs are added up, empty for none.
	CostAllocationLabel string

	// LogLevel is debug, info or error.
	LogLevel string
	// LogOutputPaths are stdout, stderr or files. LogErrorOutputPaths are accepted for compatibility and have no effect.
	LogOutputPaths      []string
	LogErrorOutputPaths []string
	// DecisionLog is the output of the decision log: stdout, stderr, a file, or empty for none.
	DecisionLog string
	// PublishDecisions writes the newest decisions to a ConfigMap.
	PublishDecisions bool

	// BatchMaxDuration and BatchIdleDuration define when a batch of pending pods ends: when no pod was added for the
	// idle duration, or after the maximum duration.
	BatchMaxDuration  time.Duration
	BatchIdleDuration time.Duration
	PreferencePolicy  PreferencePolicy
	MinValuesPolicy   MinValuesPolicy
	// Mode is the enforcement mode of pools without an annotation: Auto, DryRun or Approve.
	Mode string
	// NodeOverheadCost is an additional cost of each node in dollars per hour. It affects decisions, but is not part of
	// reported prices.
	NodeOverheadCost float64
	// MaxNodeCPU is the largest cpu of a new node, in millicores. 0 means no bound.
	MaxNodeCPU int64
	// NewNodeHeadroom is the share of a new node's cpu and memory that plans leave free, 0 to 0.5.
	NewNodeHeadroom float64
	// NominatePods enables the nomination of pods to the nodes for which they are planned, and staged moves.
	NominatePods bool
	// PauseLaunches stops all launches of nodes. PauseDisruption stops voluntary disruption of all pools.
	PauseLaunches, PauseDisruption bool
	// MaxLaunchesPerMinute bounds the nodes launched for pending pods and static NodePools. MaxDisruptionsPerMinute
	// bounds the nodes removed by voluntary disruption, MaxReplacementsPerMinute the nodes launched as replacements.
	// 0 means no bound.
	MaxLaunchesPerMinute     int
	MaxDisruptionsPerMinute  int
	MaxReplacementsPerMinute int
	// IgnoreDRARequests is false if initialization waits for the drivers that a NodeClaim names, and if DaemonSets with
	// ResourceClaims count as overhead of new nodes. Pods with ResourceClaims are refused in any case.
	IgnoreDRARequests bool
	// LegacyNodeRepair terminates unhealthy nodes at once and ignores disruption budgets, as upstream Karpenter did
	// before 1.15. It has no effect without the feature gate NodeRepair.
	LegacyNodeRepair bool
	FeatureGates     FeatureGates
	// Scheduler is the decoded value of --scheduler-config.
	Scheduler SchedulerConfig

	flags    *pflag.FlagSet
	raw      raw
	errs     []error
	failed   []string        // the flags that errs are about, once for each error
	unread   map[string]bool // flags whose environment variable could not be parsed; they are not validated
	warnings []string
}

// raw are the texts of settings that Complete decodes.
type raw struct {
	logOutputPaths, logErrorOutputPaths string
	featureGates, schedulerConfig       string
	preferencePolicy, minValuesPolicy   string
}

// Providers.
const (
	ProviderAWS        = "aws"
	ProviderKWOK       = "kwok"
	ProviderClusterAPI = "clusterapi"
	// ProviderRemote is the name for all providers in other processes.
	ProviderRemote = "remote"
)

// Providers returns the names in Provider, in their order.
func (s *Settings) Providers() []string { return splitPaths(s.Provider) }

// MaxHeadroom is the largest NewNodeHeadroom.
const MaxHeadroom = 0.5

// Enforcement modes. The annotation ext.karpenter.sh/enforcement-mode has the same values.
const (
	ModeAuto    = "Auto"
	ModeDryRun  = "DryRun"
	ModeApprove = "Approve"
)

// A PreferencePolicy is how preferences are treated: preferred affinities, and spread constraints with ScheduleAnyway.
type PreferencePolicy string

// Preference policies.
const (
	PreferencePolicyRespect PreferencePolicy = "Respect"
	PreferencePolicyIgnore  PreferencePolicy = "Ignore"
)

// A MinValuesPolicy is how a minValues that cannot be met is treated.
type MinValuesPolicy string

// Policies of minValues.
const (
	MinValuesPolicyStrict     MinValuesPolicy = "Strict"
	MinValuesPolicyBestEffort MinValuesPolicy = "BestEffort"
)

// SoftMemoryLimit returns the memory limit for the Go runtime in bytes: nine tenths of the container's limit. ok is false
// if the container's limit is not known.
func (s *Settings) SoftMemoryLimit() (bytes int64, ok bool) {
	if s.MemoryLimit <= 0 {
		return 0, false
	}
	return s.MemoryLimit / 10 * 9, true
}

// Warnings returns one sentence for each setting that is valid but probably wrong. Complete sets them.
func (s *Settings) Warnings() []string { return s.warnings }
