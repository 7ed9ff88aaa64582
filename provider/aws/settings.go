package aws

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/internal/flagtype"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
)

// Settings are the provider's own flags. The zero value is not usable; AddFlags sets the defaults.
type Settings struct {
	ClusterName string
	// ClusterEndpoint is the URL of the API server for nodes. If it is empty, it is read from EKS.
	ClusterEndpoint string
	// ClusterCABundle is base64 of PEM. If it is empty, nodes get the CA bundle of the controller's own client.
	ClusterCABundle string
	// IsolatedVPC is true if the Pricing API cannot be reached, and IAM is called only for classes with a role.
	IsolatedVPC bool
	// EKSControlPlane is true if the version of Kubernetes is read from EKS and not from the API server.
	EKSControlPlane bool
	// VMMemoryOverheadPercent is the share of memory that the hypervisor uses, as a number between 0 and 1.
	VMMemoryOverheadPercent float64
	// InterruptionQueue is the name of the SQS queue with interruption events, empty if there is none.
	InterruptionQueue string
	ReservedENIs      int
	// ReplaceOnRebalance is true if a spot node is replaced when EC2 sends a rebalance recommendation for it.
	ReplaceOnRebalance bool
	// DisableDryRun disables the permission checks of node classes.
	DisableDryRun                bool
	EnableZonalShift             bool
	AMIRefreshInterval           time.Duration
	SubnetRefreshInterval        time.Duration
	SecurityGroupRefreshInterval time.Duration
	FeatureGates                 string
	// Gates are the parsed feature gates of the provider.
	Gates FeatureGates
	// ReservedCapacity is the value of the program's feature gate of the same name. The program sets it after parsing.
	ReservedCapacity bool
	// RelaxMinValues is true if the program's flag --min-values-policy is BestEffort. The program sets it after parsing.
	RelaxMinValues bool

	flags *pflag.FlagSet
	errs  []error
	// warnings are the warnings of the last call of Validate.
	warnings []string
	// unread are the flags whose environment variable could not be parsed. They are not validated.
	unread map[string]bool
}

// AddFlags adds the provider's flags to fs and returns the settings that parsing sets. Validate must be called after
// parsing.
func AddFlags(fs *pflag.FlagSet) *Settings {
	s := &Settings{flags: pflag.NewFlagSet("aws", pflag.ContinueOnError), ReservedCapacity: true}
	f := s.flags
	f.StringVar(&s.ClusterName, "cluster-name", "", "Name of the cluster; required")
	f.StringVar(&s.ClusterEndpoint, "cluster-endpoint", "", "URL of the API server for nodes; empty means that it is read from EKS")
	f.StringVar(&s.ClusterCABundle, "cluster-ca-bundle", "",
		"Base64-encoded CA bundle of the API server for nodes; empty means the one of the controller's client")
	flagtype.Bool(f, &s.IsolatedVPC, "isolated-vpc", false,
		"No internet access: Pricing is not called, built-in and estimated list prices are used; IAM is called for EC2NodeClasses with spec.role only")
	flagtype.Bool(f, &s.EKSControlPlane, "eks-control-plane", false, "Read the Kubernetes version from EKS instead of the API server")
	f.Float64Var(&s.VMMemoryOverheadPercent, "vm-memory-overhead-percent", catalog.DefaultMemoryOverhead,
		"Fraction of memory (0.075 = 7.5%) reserved for the hypervisor")
	f.StringVar(&s.InterruptionQueue, "interruption-queue", "", "Name (not URL) of the SQS queue of interruption events; empty means none")
	flagtype.Bool(f, &s.ReplaceOnRebalance, "replace-on-rebalance-recommendation", false,
		"Replace spot nodes for which EC2 recommends rebalancing, instead of publishing an event only; needs --interruption-queue")
	f.IntVar(&s.ReservedENIs, "reserved-enis", 0, "Network interfaces per node not used for pod IPs")
	flagtype.Bool(f, &s.DisableDryRun, "disable-dry-run", false, "Do not check permissions of EC2NodeClasses with EC2 dry runs")
	flagtype.Bool(f, &s.EnableZonalShift, "enable-zonal-shift", false, "Launch no nodes in zones that an ARC zonal shift moved traffic away from")
	f.DurationVar(&s.AMIRefreshInterval, "ami-refresh-interval", time.Minute, "Cache duration of AMI lookups (minimum 1m)")
	f.DurationVar(&s.SubnetRefreshInterval, "subnet-refresh-interval", time.Minute, "Cache duration of subnet lookups (minimum 1m)")
	f.DurationVar(&s.SecurityGroupRefreshInterval, "security-group-refresh-interval", time.Minute,
		"Cache duration of security group lookups (minimum 1m)")
	f.StringVar(&s.FeatureGates, "aws-feature-gates", "", "Feature gates of the AWS provider as Name=true,Name=false")
	f.VisitAll(func(flag *pflag.Flag) { flag.Usage += " [" + variable(flag.Name) + "]" })
	fs.AddFlagSet(f)
	return s
}

func variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// Validate reads the flags that were not given from their environment variables. Its error joins all invalid
// settings, each with its flag and variable.
func (s *Settings) Validate() error {
	s.errs, s.unread = nil, map[string]bool{}
	s.flags.VisitAll(func(f *pflag.Flag) {
		text := os.Getenv(variable(f.Name))
		if f.Changed || text == "" {
			return
		}
		if err := f.Value.Set(text); err != nil {
			s.fail(f.Name, flagtype.Mismatch(text, f.Value))
			s.unread[f.Name] = true
		}
	})
	if s.ClusterName == "" {
		s.fail("cluster-name", errors.New("must be set to the name of the cluster"))
	}
	if s.ClusterEndpoint != "" {
		if u, err := url.Parse(s.ClusterEndpoint); err != nil || !u.IsAbs() || u.Hostname() == "" {
			s.fail("cluster-endpoint", fmt.Errorf("%q is not an absolute URL: use for example https://HOST", s.ClusterEndpoint))
		}
	}
	if !(s.VMMemoryOverheadPercent >= 0 && s.VMMemoryOverheadPercent < 1) { // also true for NaN
		s.fail("vm-memory-overhead-percent", fmt.Errorf("%v is out of range 0 to less than 1", s.VMMemoryOverheadPercent))
	}
	if s.ReservedENIs < 0 {
		s.fail("reserved-enis", fmt.Errorf("%d is negative: use 0 or more", s.ReservedENIs))
	}
	if strings.Contains(s.InterruptionQueue, "/") {
		s.fail("interruption-queue", fmt.Errorf("%q is not a queue name: use the last part of its URL", s.InterruptionQueue))
	}
	for name, d := range map[string]time.Duration{
		"ami-refresh-interval": s.AMIRefreshInterval, "subnet-refresh-interval": s.SubnetRefreshInterval,
		"security-group-refresh-interval": s.SecurityGroupRefreshInterval,
	} {
		if d < time.Minute {
			s.fail(name, fmt.Errorf("%s is less than 1m", d))
		}
	}
	s.warnings = nil
	s.checkGates()
	if s.ReplaceOnRebalance && s.InterruptionQueue == "" {
		s.warnings = append(s.warnings, "--replace-on-rebalance-recommendation has no effect: --interruption-queue is not set")
	}
	return errors.Join(s.errs...)
}

// FeatureGates are features of the provider that can be switched off or on. All are off by default.
type FeatureGates struct {
	// NodeClassCEL allows expressions in kubelet sections.
	NodeClassCEL bool
	// RebootForRepair reboots an instance where a reboot can repair its accelerators, instead of replacing it.
	RebootForRepair bool
	// DRANVIDIAGPU and DRAEFA are accepted so that manifests of upstream Karpenter work. They have no effect.
	DRANVIDIAGPU, DRAEFA bool
}

// byName returns a pointer to each gate, by the name of the gate.
func (g *FeatureGates) byName() map[string]*bool {
	return map[string]*bool{
		"NodeClassCEL": &g.NodeClassCEL, "RebootForRepair": &g.RebootForRepair,
		"DRANVIDIAGPU": &g.DRANVIDIAGPU, "DRAEFA": &g.DRAEFA,
	}
}

// gateNames are the names of the gates as a text, in alphabetical order.
func gateNames() string {
	return strings.Join(slices.Sorted(maps.Keys(new(FeatureGates).byName())), ", ")
}

// Warnings returns settings that are valid but probably wrong, one sentence each. Validate sets them.
func (s *Settings) Warnings() []string { return s.warnings }

// checkGates parses the gates and reports those that cannot be parsed. An unknown gate that is switched on is an error,
// because it may be a typing error. An unknown gate that is switched off is ignored, because a manifest may list gates
// of other versions.
func (s *Settings) checkGates() {
	s.Gates = FeatureGates{}
	known := s.Gates.byName()
	for _, gate := range strings.Split(s.FeatureGates, ",") {
		if strings.TrimSpace(gate) == "" {
			continue
		}
		name, value, ok := strings.Cut(gate, "=")
		name = strings.TrimSpace(name)
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		switch {
		case !ok || err != nil:
			s.fail("aws-feature-gates", fmt.Errorf("%q is not of the form NodeClassCEL=true", gate))
		case known[name] != nil:
			*known[name] = on
		case on:
			s.fail("aws-feature-gates", fmt.Errorf("unknown feature gate %q: use %s", name, gateNames()))
		}
	}
	if s.Gates.DRANVIDIAGPU || s.Gates.DRAEFA {
		s.warnings = append(s.warnings, "feature gates DRANVIDIAGPU and DRAEFA have no effect: "+
			"pods with spec.resourceClaims are not planned, see docs/compat.md")
	}
}

func (s *Settings) fail(flag string, err error) {
	if s.unread[flag] {
		return // the variable is already reported as invalid, and the value is the default
	}
	s.errs = append(s.errs, fmt.Errorf("--%s (%s): %w", flag, variable(flag), err))
}
