package aws

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/provider/aws/catalog"
)

// Settings are the provider's own flags. The zero value is not usable; AddFlags sets the defaults.
type Settings struct {
	ClusterName string
	// ClusterEndpoint is the URL of the API server as nodes reach it; empty means that EKS is asked.
	ClusterEndpoint string
	// ClusterCABundle is base64 of PEM; empty means the bundle that the controller itself trusts.
	ClusterCABundle string
	// IsolatedVPC means that IAM and Pricing cannot be reached.
	IsolatedVPC bool
	// EKSControlPlane means that EKS is asked for the version of Kubernetes.
	EKSControlPlane bool
	// VMMemoryOverheadPercent is the part of memory that the hypervisor keeps.
	VMMemoryOverheadPercent float64
	// InterruptionQueue is the name of the SQS queue of interruption events; empty means none.
	InterruptionQueue string
	ReservedENIs      int
	// DisableDryRun leaves out the permission checks of node classes.
	DisableDryRun         bool
	EnableZonalShift      bool
	AMIRefreshInterval    time.Duration
	SubnetRefreshInterval time.Duration
	FeatureGates          string
	// NodeClassCEL is the gate of that name: kubelet sections may hold expressions.
	NodeClassCEL bool
	// ReservedCapacity is the core's feature gate, set by the composition root.
	ReservedCapacity bool

	flags *pflag.FlagSet
	errs  []error
}

// AddFlags adds the provider's flags to fs and returns the settings that they will fill. Validate completes them.
func AddFlags(fs *pflag.FlagSet) *Settings {
	s := &Settings{flags: pflag.NewFlagSet("aws", pflag.ContinueOnError), ReservedCapacity: true}
	f := s.flags
	f.StringVar(&s.ClusterName, "cluster-name", "", "name of the cluster; required")
	f.StringVar(&s.ClusterEndpoint, "cluster-endpoint", "", "URL of the API server for nodes, by default what EKS says")
	f.StringVar(&s.ClusterCABundle, "cluster-ca-bundle", "", "base64 CA bundle for nodes, by default the controller's own")
	f.BoolVar(&s.IsolatedVPC, "isolated-vpc", false, "do not call services that have no endpoint in the VPC")
	f.BoolVar(&s.EKSControlPlane, "eks-control-plane", false, "ask EKS for the version of Kubernetes")
	f.Float64Var(&s.VMMemoryOverheadPercent, "vm-memory-overhead-percent", catalog.DefaultMemoryOverhead,
		"part of memory that the hypervisor keeps")
	f.StringVar(&s.InterruptionQueue, "interruption-queue", "", "name of the SQS queue of interruption events")
	f.IntVar(&s.ReservedENIs, "reserved-enis", 0, "network interfaces that pods get no addresses from")
	f.BoolVar(&s.DisableDryRun, "disable-dry-run", false, "do not check permissions by dry runs")
	f.BoolVar(&s.EnableZonalShift, "enable-zonal-shift", false, "keep out of zones that ARC shifts away from")
	f.DurationVar(&s.AMIRefreshInterval, "ami-refresh-interval", time.Minute, "how long a found image is good")
	f.DurationVar(&s.SubnetRefreshInterval, "subnet-refresh-interval", time.Minute, "how long a found subnet is good")
	f.StringVar(&s.FeatureGates, "aws-feature-gates", "", "feature gates of the provider, as Name=true,Name=false")
	f.VisitAll(func(flag *pflag.Flag) { flag.Usage += " [" + variable(flag.Name) + "]" })
	fs.AddFlagSet(f)
	return s
}

func variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// Validate fills in what was not given from the environment and returns everything that is wrong, each with its flag and
// variable.
func (s *Settings) Validate() error {
	s.errs = nil
	s.flags.VisitAll(func(f *pflag.Flag) {
		text := os.Getenv(variable(f.Name))
		if f.Changed || text == "" {
			return
		}
		if err := f.Value.Set(text); err != nil {
			s.fail(f.Name, fmt.Errorf("%q is not of type %s", text, f.Value.Type()))
		}
	})
	if s.ClusterName == "" {
		s.fail("cluster-name", errors.New("must be set"))
	}
	if s.ClusterEndpoint != "" {
		if u, err := url.Parse(s.ClusterEndpoint); err != nil || !u.IsAbs() || u.Hostname() == "" {
			s.fail("cluster-endpoint", fmt.Errorf("%q is not an absolute URL", s.ClusterEndpoint))
		}
	}
	if s.VMMemoryOverheadPercent < 0 || s.VMMemoryOverheadPercent >= 1 {
		s.fail("vm-memory-overhead-percent", fmt.Errorf("%v is not in [0, 1)", s.VMMemoryOverheadPercent))
	}
	if s.ReservedENIs < 0 {
		s.fail("reserved-enis", fmt.Errorf("%d is negative", s.ReservedENIs))
	}
	if strings.Contains(s.InterruptionQueue, "/") {
		s.fail("interruption-queue", fmt.Errorf("%q is not a queue's name", s.InterruptionQueue))
	}
	for name, d := range map[string]time.Duration{
		"ami-refresh-interval": s.AMIRefreshInterval, "subnet-refresh-interval": s.SubnetRefreshInterval,
	} {
		if d < time.Minute {
			s.fail(name, fmt.Errorf("%s is less than a minute", d))
		}
	}
	s.checkGates()
	return errors.Join(s.errs...)
}

// gateCEL is the only gate of the provider.
const gateCEL = "NodeClassCEL"

// checkGates reads the gates and reports those that cannot be read. Unknown ones are passed over, as upstream does.
func (s *Settings) checkGates() {
	for _, gate := range strings.Split(s.FeatureGates, ",") {
		if strings.TrimSpace(gate) == "" {
			continue
		}
		name, value, ok := strings.Cut(gate, "=")
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if !ok || err != nil {
			s.fail("aws-feature-gates", fmt.Errorf("%q is not of the form Name=true", gate))
		}
		if strings.TrimSpace(name) == gateCEL {
			s.NodeClassCEL = on
		}
	}
}

func (s *Settings) fail(flag string, err error) {
	s.errs = append(s.errs, fmt.Errorf("--%s (%s): %w", flag, variable(flag), err))
}
