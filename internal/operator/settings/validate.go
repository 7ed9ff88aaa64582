package settings

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Complete reads environment variables and computes settings that depend on others. Validate reports values that
// Complete could not parse.
func (s *Settings) Complete() { s.complete(os.Getenv) }

// complete is Complete with the environment that getenv returns.
func (s *Settings) complete(getenv func(string) string) {
	s.errs, s.failed, s.warnings = nil, nil, nil
	s.readEnvironment(getenv)
	if s.CPURequests <= 0 {
		s.CPURequests = 1000
	}
	s.LogLevel = strings.ToLower(s.LogLevel)
	if s.LogLevel == "" {
		s.LogLevel = "info"
	}
	s.LogOutputPaths = splitPaths(s.raw.logOutputPaths)
	s.LogErrorOutputPaths = splitPaths(s.raw.logErrorOutputPaths)
	s.PreferencePolicy = PreferencePolicy(s.raw.preferencePolicy)
	s.MinValuesPolicy = MinValuesPolicy(s.raw.minValuesPolicy)

	gates, warnings, err := ParseFeatureGates(s.raw.featureGates)
	s.FeatureGates = gates
	s.warnings = append(s.warnings, warnings...)
	if err != nil {
		s.fail("feature-gates", err)
	}
	if s.LegacyNodeRepair && !gates.NodeRepair {
		s.warnings = append(s.warnings, "--legacy-node-repair has no effect: feature gate NodeRepair is off")
	}
	s.warnAboutDashboard()
	s.warnAboutRates()
	s.Scheduler = SchedulerConfig{}
	if err := yaml.UnmarshalStrict([]byte(s.raw.schedulerConfig), &s.Scheduler); err != nil {
		s.fail("scheduler-config", fmt.Errorf("decode: %w", err))
	}
}

// warnAboutRates adds a warning for each valid rate and duration that is probably a mistake.
func (s *Settings) warnAboutRates() {
	warn := func(format string, values ...any) { s.warnings = append(s.warnings, fmt.Sprintf(format, values...)) }
	switch {
	case s.KubeClientQPS < 0:
		warn("--kube-client-qps: requests to the API server are not limited by the client")
	case s.KubeClientQPS == 0:
		warn("--kube-client-qps: 0 means %g requests per second, the default of Kubernetes clients; use -1 for no limit", rest.DefaultQPS)
	}
	if s.KubeClientBurst == 0 && s.KubeClientQPS >= 0 {
		warn("--kube-client-burst: 0 means %d requests, the default of Kubernetes clients", rest.DefaultBurst)
	}
	switch {
	case s.BatchMaxDuration <= 0:
		warn("--batch-max-duration: %v means that no pod waits for further pods; plans of single pods cost more", s.BatchMaxDuration)
	case s.BatchIdleDuration <= 0:
		warn("--batch-idle-duration: %v means that no pod waits for further pods; plans of single pods cost more", s.BatchIdleDuration)
	case s.BatchMaxDuration < s.BatchIdleDuration:
		warn("--batch-idle-duration: %v has no effect, because --batch-max-duration (%v) ends each batch", s.BatchIdleDuration, s.BatchMaxDuration)
	}
}

// warnAboutDashboard adds a warning if the dashboard can be reached from other machines. With authentication, the tokens of the
// users are not encrypted. Without authentication, any client that reaches the port can read it.
func (s *Settings) warnAboutDashboard() {
	address := net.ParseIP(s.DashboardBindAddress)
	switch {
	case s.DashboardPort == 0 || address == nil || address.IsLoopback():
	case s.DashboardAuthentication:
		s.warnings = append(s.warnings, "--dashboard-authentication: the dashboard has no TLS, so tokens are not encrypted; put a proxy with TLS before it")
	default:
		s.warnings = append(s.warnings, "--dashboard-bind-address: everyone who reaches "+s.DashboardBindAddress+" can read the dashboard; set --dashboard-authentication")
	}
}

// Validate returns an error that joins all invalid settings, including those that Complete could not parse.
func (s *Settings) Validate() error {
	_, err := s.validate()
	return err
}

// validate is Validate. It also returns the names of the flags with values that were parsed and are invalid.
func (s *Settings) validate() (invalid []string, err error) {
	v := &Settings{errs: slices.Clone(s.errs), unread: s.unread}
	v.providers(s.Provider, s.Providers())
	v.port("metrics-port", s.MetricsPort)
	v.port("health-probe-port", s.HealthProbePort)
	if s.MetricsPort != 0 && s.MetricsPort == s.HealthProbePort {
		v.fail("health-probe-port", fmt.Errorf("%d is used by --metrics-port: use another port", s.HealthProbePort))
	}
	if s.MetricsAuthentication && !s.MetricsTLS {
		v.fail("metrics-authentication", errors.New("tokens would be sent without encryption: set --metrics-tls"))
	}
	if s.MetricsCertificateDir != "" && !s.MetricsTLS {
		v.fail("metrics-certificate-dir", errors.New("is not used: set --metrics-tls"))
	}
	v.dashboard(s)
	if s.KubeClientBurst < 0 && s.KubeClientQPS >= 0 {
		v.fail("kube-client-burst", fmt.Errorf("%d would refuse every request: use a number greater than 0, or --kube-client-qps=-1 for no limit",
			s.KubeClientBurst))
	}
	v.names(s)
	v.oneOf("log-level", s.LogLevel, "debug", "info", "error")
	if len(s.LogOutputPaths) == 0 {
		v.fail("log-output-paths", errors.New("must not be empty"))
	}
	v.oneOf("preference-policy", string(s.PreferencePolicy),
		string(PreferencePolicyRespect), string(PreferencePolicyIgnore))
	v.oneOf("min-values-policy", string(s.MinValuesPolicy),
		string(MinValuesPolicyStrict), string(MinValuesPolicyBestEffort))
	if s.LegacyNodeRepair && s.FeatureGates.TerminateFirstRepair {
		v.fail("legacy-node-repair", errors.New("cannot be used with feature gate TerminateFirstRepair: switch one of them off"))
	}
	v.oneOf("enforcement-mode", s.Mode, ModeAuto, ModeDryRun, ModeApprove)
	v.notNegative("max-launches-per-minute", s.MaxLaunchesPerMinute)
	v.notNegative("metrics-detail-max-nodes", s.MetricsDetailMaxNodes)
	v.notNegative("max-disruptions-per-minute", s.MaxDisruptionsPerMinute)
	v.notNegative("max-replacements-per-minute", s.MaxReplacementsPerMinute)
	if !(s.NodeOverheadCost >= 0 && s.NodeOverheadCost <= MaxOverheadCost) { // also true for NaN
		v.fail("node-overhead-cost", fmt.Errorf("%g is out of range 0 to %d USD/h", s.NodeOverheadCost, MaxOverheadCost))
	}
	if s.MaxNodeCPU < 0 || s.MaxNodeCPU > MaxCores*1000 {
		v.fail("max-node-cpu", fmt.Errorf("%g cores is out of range 0 to %d", float64(s.MaxNodeCPU)/1000, MaxCores))
	}
	if !(s.NewNodeHeadroom >= 0 && s.NewNodeHeadroom <= MaxHeadroom) {
		v.fail("new-node-headroom", fmt.Errorf("%g is out of range 0 to %g", s.NewNodeHeadroom, MaxHeadroom))
	}
	for _, err := range s.Scheduler.validate() {
		v.fail("scheduler-config", err)
	}
	return v.failed, errors.Join(v.errs...)
}

// names checks the name of the Lease and the key of the cost label.
func (s *Settings) names(of *Settings) {
	if of.LeaderElectionName == "" && !of.DisableLeaderElection {
		s.fail("leader-election-name", errors.New("must not be empty"))
	}
	if name := of.LeaderElectionName; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		s.fail("leader-election-name", fmt.Errorf("%q is no name of a Lease: use lower-case letters, digits, '-' and '.'", name))
	}
	if key := of.CostAllocationLabel; key != "" {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			s.fail("cost-allocation-label", fmt.Errorf("%q is no key of a label: %s", key, strings.Join(problems, ", ")))
		}
	}
}

// dashboard checks the settings of the dashboard.
func (s *Settings) dashboard(of *Settings) {
	s.port("dashboard-port", of.DashboardPort)
	if of.DashboardPort == 0 {
		return
	}
	if of.DashboardPort == of.MetricsPort || of.DashboardPort == of.HealthProbePort {
		s.fail("dashboard-port", fmt.Errorf("%d is used by --metrics-port or --health-probe-port: use another port", of.DashboardPort))
	}
	if net.ParseIP(of.DashboardBindAddress) == nil {
		s.fail("dashboard-bind-address", fmt.Errorf("%q is not an IP address: use for example 127.0.0.1 or 0.0.0.0", of.DashboardBindAddress))
	}
}

// MaxOverheadCost is the largest overhead cost of a node, in dollars per hour, and MaxCores the largest maximum of its cpu, in
// cores. Larger values are mistakes in the unit.
const (
	MaxOverheadCost = 10_000
	MaxCores        = 1_000_000
)

func (s *Settings) oneOf(flag, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		s.fail(flag, fmt.Errorf("%q is unknown: use %s", value, strings.Join(allowed, ", ")))
	}
}

// providers checks the list of providers.
func (s *Settings) providers(text string, list []string) {
	if len(list) == 0 {
		list = []string{text}
	}
	for n, name := range list {
		s.oneOf("provider", name, ProviderAWS, ProviderKWOK, ProviderClusterAPI, ProviderRemote)
		if slices.Contains(list[:n], name) {
			s.fail("provider", fmt.Errorf("%q is given twice", name))
		}
	}
}

func (s *Settings) port(flag string, port int) {
	if port < 0 || port > 65535 {
		s.fail(flag, fmt.Errorf("%d is out of range 0 to 65535", port))
	}
}

func (s *Settings) notNegative(flag string, n int) {
	if n < 0 {
		s.fail(flag, fmt.Errorf("%d is negative: use 0 for no limit", n))
	}
}

// splitPaths splits the text at commas and omits empty parts.
func splitPaths(text string) []string {
	var list []string
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
