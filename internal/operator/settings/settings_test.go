package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
)

// load reads settings from a command line and an environment in the same steps as the program.
func load(t *testing.T, env map[string]string, args ...string) (*Settings, error) {
	t.Helper()
	for _, name := range variables() {
		t.Setenv(name, env[name])
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s := AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	s.Complete()
	return s, s.Validate()
}

func defaults() Settings {
	return Settings{
		Provider: "aws", MetricsPort: 8080, HealthProbePort: 8081, DashboardBindAddress: "127.0.0.1", KubeClientQPS: 200, KubeClientBurst: 300,
		DisableControllerWarmup: true, LeaderElectionName: "karpenter-leader-election", MemoryLimit: -1, CPURequests: 1000, MetricsDetailMaxNodes: 500,
		LogLevel: "info", LogOutputPaths: []string{"stdout"}, LogErrorOutputPaths: []string{"stderr"},
		BatchMaxDuration: 10 * time.Second, BatchIdleDuration: time.Second, PreferencePolicy: "Respect",
		MinValuesPolicy: "Strict", Mode: "Auto", IgnoreDRARequests: true, NominatePods: true, PublishDecisions: true, FeatureGates: FeatureGates{ReservedCapacity: true},
	}
}

func TestSources(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want func(*Settings)
	}{
		{name: "defaults", want: func(*Settings) {}},
		{
			name: "environment",
			env: map[string]string{
				"METRICS_PORT": "9000", "DISABLE_CONTROLLER_WARMUP": "false", "BATCH_MAX_DURATION": "30s",
				"LOG_OUTPUT_PATHS": "stdout, karpenter.log", "MEMORY_LIMIT": "2000000000", "PREFERENCE_POLICY": "Ignore",
				"FEATURE_GATES": "ReservedCapacity=false,NodeRepair=true", "KARPENTER_PROVIDER": "kwok", "LOG_LEVEL": "DEBUG",
				"ENFORCEMENT_MODE": "DryRun", "MAX_DISRUPTIONS_PER_MINUTE": "5", "NODE_OVERHEAD_COST": "0.02", "MAX_NODE_CPU": "64",
				"NOMINATE_PODS": "false", "NEW_NODE_HEADROOM": "0.05",
			},
			want: func(s *Settings) {
				s.MetricsPort, s.DisableControllerWarmup, s.BatchMaxDuration = 9000, false, 30*time.Second
				s.LogOutputPaths, s.MemoryLimit = []string{"stdout", "karpenter.log"}, 2_000_000_000
				s.PreferencePolicy, s.Provider, s.LogLevel = PreferencePolicyIgnore, ProviderKWOK, "debug"
				s.FeatureGates = FeatureGates{NodeRepair: true}
				s.Mode, s.MaxDisruptionsPerMinute = ModeDryRun, 5
				s.NodeOverheadCost, s.MaxNodeCPU, s.NominatePods, s.NewNodeHeadroom = 0.02, 64_000, false, 0.05
			},
		},
		{
			name: "a flag wins over its variable, even with the default as value",
			env:  map[string]string{"METRICS_PORT": "9000", "KUBE_CLIENT_QPS": "5", "IGNORE_DRA_REQUESTS": "true"},
			args: []string{"--metrics-port=8080", "--ignore-dra-requests=false"},
			want: func(s *Settings) { s.KubeClientQPS, s.IgnoreDRARequests = 5, false },
		},
		{
			name: "a bad variable does not matter under a flag",
			env:  map[string]string{"METRICS_PORT": "many"},
			args: []string{"--metrics-port=1"},
			want: func(s *Settings) { s.MetricsPort = 1 },
		},
		{
			name: "no CPU request is one core, no log level is info",
			args: []string{"--cpu-requests=0", "--log-level="},
			want: func(*Settings) {},
		},
		{
			name: "scheduler configuration",
			args: []string{"--scheduler-config", `podTopologySpread: {defaultConstraints: [
				{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}`},
			want: func(s *Settings) {
				s.Scheduler.PodTopologySpread.DefaultConstraints = []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: "ScheduleAnyway",
				}}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := load(t, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			want := defaults()
			tt.want(&want)
			if diff := cmp.Diff(&want, got, cmpopts.IgnoreUnexported(Settings{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsAreReportedTogether(t *testing.T) {
	_, err := load(t, map[string]string{"METRICS_PORT": "many", "DISABLE_LEADER_ELECTION": "perhaps"},
		"--health-probe-port=70000", "--kube-client-burst=-1", "--log-level=loud",
		"--preference-policy=Sometimes", "--feature-gates=NodeRepair=yes,NodeOverlay", "--provider=gcp",
		"--log-output-paths=,", "--leader-election-name=", "--min-values-policy=", "--scheduler-config=podTopology: 1",
		"--metrics-authentication=true", "--metrics-certificate-dir=/certificates",
		"--node-overhead-cost=NaN", "--max-node-cpu=-1", "--new-node-headroom=0.6")
	if err == nil {
		t.Fatal("accepted")
	}
	got := err.Error()
	for _, want := range []string{
		`--metrics-port (METRICS_PORT): "many" is not a whole number: use for example 10`,
		`--disable-leader-election (DISABLE_LEADER_ELECTION): "perhaps" is not a boolean: use for example true`,
		`--metrics-authentication (METRICS_AUTHENTICATION): tokens would be sent without encryption: set --metrics-tls`,
		`--metrics-certificate-dir (METRICS_CERTIFICATE_DIR): is not used: set --metrics-tls`,
		`--health-probe-port (HEALTH_PROBE_PORT): 70000 is out of range 0 to 65535`,
		`--kube-client-burst (KUBE_CLIENT_BURST): -1 would refuse every request: use a number greater than 0, or --kube-client-qps=-1 for no limit`,
		`--log-level (LOG_LEVEL): "loud" is unknown: use debug, info, error`,
		`--preference-policy (PREFERENCE_POLICY): "Sometimes" is unknown: use Respect, Ignore`,
		`--feature-gates (FEATURE_GATES): NodeRepair="yes" is not a boolean: use true or false`,
		`NodeOverlay="" is not a boolean: use true or false`,
		`--provider (KARPENTER_PROVIDER): "gcp" is unknown: use aws, kwok, clusterapi`,
		`--log-output-paths (LOG_OUTPUT_PATHS): must not be empty`,
		`--leader-election-name (LEADER_ELECTION_NAME): must not be empty`,
		`--min-values-policy (MIN_VALUES_POLICY): "" is unknown: use Strict, BestEffort`,
		`--scheduler-config (SCHEDULER_CONFIG): decode: `,
		`--node-overhead-cost (NODE_OVERHEAD_COST): NaN is out of range 0 to 10000 USD/h`,
		`--new-node-headroom (NEW_NODE_HEADROOM): 0.6 is out of range 0 to 0.5`,
		`--max-node-cpu (MAX_NODE_CPU): -1 cores is out of range 0 to 1000000`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the error lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// The name of the Lease and the key of the cost label are checked as the API server checks them.
func TestNames(t *testing.T) {
	for args, want := range map[string]string{
		"--leader-election-name=A B/c":                       `--leader-election-name (LEADER_ELECTION_NAME): "A B/c" is no name of a Lease`,
		"--leader-election-name=karpenter.lease-2":           "",
		"--cost-allocation-label=A B/c/d":                    `--cost-allocation-label (COST_ALLOCATION_LABEL): "A B/c/d" is no key of a label`,
		"--cost-allocation-label=example.com/Team":           "",
		"--cost-allocation-label=app.kubernetes.io/part-of":  "",
		"--cost-allocation-label=" + strings.Repeat("a", 64): "is no key of a label",
		"--leader-election-name=" + strings.Repeat("a", 254): "is no name of a Lease",
	} {
		_, err := load(t, nil, args)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}

// If an environment variable cannot be parsed, there is one error about it, and none about the default that is used
// instead.
func TestUnreadIsReportedOnce(t *testing.T) {
	_, err := load(t, map[string]string{"BATCH_IDLE_DURATION": "1", "BATCH_MAX_DURATION": "500ms"})
	const want = `--batch-idle-duration (BATCH_IDLE_DURATION): "1" is not a duration: use for example 1s`
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// Rates and durations that upstream accepts are accepted, with a warning if they are probably a mistake.
func TestOddRates(t *testing.T) {
	for args, want := range map[string]string{
		"--batch-idle-duration=1s":                       "",
		"--kube-client-qps=-1 --kube-client-burst=-1":    "--kube-client-qps: requests to the API server are not limited by the client",
		"--kube-client-qps=0":                            "--kube-client-qps: 0 means 5 requests per second, the default of Kubernetes clients; use -1 for no limit",
		"--kube-client-burst=0":                          "--kube-client-burst: 0 means 10 requests, the default of Kubernetes clients",
		"--batch-idle-duration=20s":                      "--batch-idle-duration: 20s has no effect, because --batch-max-duration (10s) ends each batch",
		"--batch-idle-duration=0":                        "--batch-idle-duration: 0s means that no pod waits for further pods; plans of single pods cost more",
		"--batch-idle-duration=-1s":                      "--batch-idle-duration: -1s means that no pod waits for further pods; plans of single pods cost more",
		"--batch-max-duration=0 --batch-idle-duration=0": "--batch-max-duration: 0s means that no pod waits for further pods; plans of single pods cost more",
	} {
		t.Run(args, func(t *testing.T) {
			s, err := load(t, nil, strings.Fields(args)...)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.Warnings(), "\n"); got != want {
				t.Errorf("warnings %q, want %q", got, want)
			}
		})
	}
}

func TestBooleansNeedAValue(t *testing.T) {
	for _, args := range [][]string{
		{"--enable-profiling"},
		{"--enable-profiling", "--metrics-port=1"},
		{"--enable-profiling=on"},
	} {
		if _, err := load(t, nil, args...); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	s, err := load(t, nil, "--enable-profiling=true")
	if err != nil || !s.EnableProfiling {
		t.Errorf("enabled: %v, error: %v", s.EnableProfiling, err)
	}
}

// An unknown gate is an error if it is switched on, and only a warning if it is switched off.
func TestUnknownGate(t *testing.T) {
	_, err := load(t, map[string]string{"FEATURE_GATES": "SpotToSpotConsolidaton=true, noderepair=maybe,StaticCapacity=true"})
	for _, want := range []string{
		`unknown feature gate "SpotToSpotConsolidaton", did you mean SpotToSpotConsolidation?`,
		`unknown feature gate "noderepair", did you mean NodeRepair?`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	s, err := load(t, map[string]string{"FEATURE_GATES": "NodeOverlays=false,StaticCapacity=true"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`unknown feature gate "NodeOverlays", did you mean NodeOverlay?`}, s.Warnings()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(FeatureGates{ReservedCapacity: true, StaticCapacity: true}, s.FeatureGates); diff != "" {
		t.Error(diff)
	}
}

func TestSchedulerConfig(t *testing.T) {
	_, err := load(t, nil, "--scheduler-config", `{"podTopologySpread": {"defaultConstraints": [
		{"maxSkew": 0, "topologyKey": "a b", "whenUnsatisfiable": "Never", "labelSelector": {}},
		{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
		{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["a"]}]}}`)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"[0].maxSkew is 0", `[0].topologyKey "a b"`, `[0].whenUnsatisfiable is "Never"`, "[0]: labelSelector",
		"[2]: labelSelector and matchLabelKeys", "[2] repeats zone with DoNotSchedule",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "[1]") {
		t.Errorf("complains of a good constraint: %v", err)
	}
}

func TestSoftMemoryLimit(t *testing.T) {
	if _, ok := (&Settings{MemoryLimit: -1}).SoftMemoryLimit(); ok {
		t.Error("there is a limit without a limit of the container")
	}
	if got, ok := (&Settings{MemoryLimit: 1000}).SoftMemoryLimit(); !ok || got != 900 {
		t.Errorf("limit is %d, want 900", got)
	}
}

// The Lease is in the namespace of its setting, or else in that of the process.
func TestLeaseNamespace(t *testing.T) {
	for _, tt := range []struct{ process, setting, lease string }{
		{"kube-system", "leases", "leases"}, {"kube-system", "", "kube-system"}, {"", "leases", "leases"}, {"", "", ""},
	} {
		t.Setenv("SYSTEM_NAMESPACE", tt.process)
		s := &Settings{LeaderElectionNamespace: tt.setting}
		if got := s.LeaseNamespace(); got != tt.lease {
			t.Errorf("process in %q, setting %q: %q, want %q", tt.process, tt.setting, got, tt.lease)
		}
	}
}
