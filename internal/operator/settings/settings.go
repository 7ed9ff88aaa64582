package settings

import (
	"time"

	"github.com/spf13/pflag"
)

// Settings are what an operator of Karpenter can choose. AddFlags, Complete and Validate are called in this order; after
// that the struct is only read.
type Settings struct {
	// Provider is the cloud: ProviderAWS or ProviderKWOK.
	Provider string
	// KarpenterService is accepted for old manifests and not used.
	KarpenterService string

	// MetricsPort and HealthProbePort are TCP ports; 0 picks a free one.
	MetricsPort     int
	HealthProbePort int
	// KubeClientQPS and KubeClientBurst bound the requests a second to the API server.
	KubeClientQPS   int
	KubeClientBurst int

	// EnableProfiling serves /debug/pprof on the metrics port.
	EnableProfiling bool
	// DisableControllerWarmup keeps replicas that do not lead from filling their caches.
	DisableControllerWarmup bool
	DisableLeaderElection   bool
	// DisableClusterStateObservability leaves out the metrics of single pods, nodes and pools and of conditions.
	DisableClusterStateObservability bool
	// LeaderElectionName and LeaderElectionNamespace name the lease; the namespace is that of the pod if empty.
	LeaderElectionName      string
	LeaderElectionNamespace string

	// MemoryLimit is that of the container, in bytes; below 1 it is unknown. See SoftMemoryLimit.
	MemoryLimit int64
	// CPURequests is that of the container, in thousandths of a core; at least 1.
	CPURequests int64

	// LogLevel is debug, info or error.
	LogLevel string
	// LogOutputPaths and LogErrorOutputPaths are stdout, stderr or files; the second are for errors of logging itself.
	LogOutputPaths      []string
	LogErrorOutputPaths []string

	// BatchMaxDuration and BatchIdleDuration say for how long pods are gathered before a round begins: until none came for
	// the idle time, the maximum at most.
	BatchMaxDuration  time.Duration
	BatchIdleDuration time.Duration
	PreferencePolicy  PreferencePolicy
	MinValuesPolicy   MinValuesPolicy
	// Mode is the mode of pools without their own: Auto, DryRun or Approve.
	Mode string
	// NodeOverheadCost is what a node costs besides its price, in dollars per hour; it is weighed, and in no reported price.
	NodeOverheadCost float64
	// MaxNodeCPU is the most cpu that a new node may have, in millicores; 0 for any.
	MaxNodeCPU int64
	// NewNodeHeadroom is the share of a new node's cpu and memory that plans leave free, 0 to 0.5.
	NewNodeHeadroom float64
	// NominatePods nominates pods to the nodes that they were planned for.
	NominatePods bool
	// PauseLaunches stops launches of nodes, whatever for; PauseDisruption stops voluntary disruption of all pools.
	PauseLaunches, PauseDisruption bool
	// MaxLaunchesPerMinute bounds the nodes launched for pods that wait, MaxDisruptionsPerMinute and MaxReplacementsPerMinute
	// what disruption does by choice; 0 for no bound.
	MaxLaunchesPerMinute     int
	MaxDisruptionsPerMinute  int
	MaxReplacementsPerMinute int
	// IgnoreDRARequests leaves out pods that claim dynamic resources.
	IgnoreDRARequests bool
	// LegacyNodeRepair ends unhealthy nodes at once and outside of disruption budgets, as before NodeRepair was voluntary. It has
	// no effect without the gate NodeRepair.
	LegacyNodeRepair bool
	FeatureGates     FeatureGates
	// Scheduler is the decoded SCHEDULER_CONFIG.
	Scheduler SchedulerConfig

	flags    *pflag.FlagSet
	raw      raw
	errs     []error
	unread   map[string]bool // flags whose variable could not be read; they are not validated
	warnings []string
}

// raw are the settings that need more than a parser of flags.
type raw struct {
	logOutputPaths, logErrorOutputPaths string
	featureGates, schedulerConfig       string
	preferencePolicy, minValuesPolicy   string
}

// Providers.
const (
	ProviderAWS  = "aws"
	ProviderKWOK = "kwok"
)

// MaxHeadroom is the largest NewNodeHeadroom.
const MaxHeadroom = 0.5

// Modes of decisions. They are the values of the annotation ext.karpenter.sh/enforcement-mode too.
const (
	ModeAuto    = "Auto"
	ModeDryRun  = "DryRun"
	ModeApprove = "Approve"
)

// A PreferencePolicy says what becomes of preferences: preferred affinities and spread that may be violated.
type PreferencePolicy string

// Preference policies.
const (
	PreferencePolicyRespect PreferencePolicy = "Respect"
	PreferencePolicyIgnore  PreferencePolicy = "Ignore"
)

// A MinValuesPolicy says what becomes of a minValues that cannot be met.
type MinValuesPolicy string

// Policies of minValues.
const (
	MinValuesPolicyStrict     MinValuesPolicy = "Strict"
	MinValuesPolicyBestEffort MinValuesPolicy = "BestEffort"
)

// SoftMemoryLimit is the limit for the Go runtime in bytes, nine tenths of the container's; ok is false if that is unknown.
func (s *Settings) SoftMemoryLimit() (bytes int64, ok bool) {
	if s.MemoryLimit <= 0 {
		return 0, false
	}
	return s.MemoryLimit / 10 * 9, true
}

// Warnings are what an operator should look at, one sentence each, in the order of the settings. Complete fills them.
func (s *Settings) Warnings() []string { return s.warnings }
