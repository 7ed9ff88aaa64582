package clusterapi

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/flagtype"
)

// Settings are the settings of the provider.
type Settings struct {
	// ManagementKubeconfig is the path of the kubeconfig of the management cluster; empty if it is the workload cluster.
	ManagementKubeconfig string
	// LaunchTimeout is how long a Machine may take to get a provider ID.
	LaunchTimeout time.Duration
	// PriceFile is the path of a table of prices, empty for none.
	PriceFile string

	flags *pflag.FlagSet
	wrong error // the environment variable of LaunchTimeout cannot be parsed
}

// The flags and environment variables of the provider.
const (
	flagManagementKubeconfig = "management-kubeconfig"
	envManagementKubeconfig  = "MANAGEMENT_KUBECONFIG"
	flagLaunchTimeout        = "machine-launch-timeout"
	envLaunchTimeout         = "MACHINE_LAUNCH_TIMEOUT"
	flagPriceFile            = "price-file"
	envPriceFile             = "PRICE_FILE"
)

// AddFlags adds the provider's flags to fs and returns the settings that parsing and Complete set.
func AddFlags(fs *pflag.FlagSet) *Settings {
	s := &Settings{flags: fs}
	fs.StringVar(&s.ManagementKubeconfig, flagManagementKubeconfig, "",
		"Kubeconfig of the management cluster of Cluster API; empty means the cluster of the nodes ["+envManagementKubeconfig+"]")
	fs.DurationVar(&s.LaunchTimeout, flagLaunchTimeout, DefaultLaunchTimeout,
		"Time within which a Machine of Cluster API must get a provider ID, 1m to 2h; its node must join within 10m more ["+envLaunchTimeout+"]")
	fs.StringVar(&s.PriceFile, flagPriceFile, "",
		"YAML file of the prices of templates of Cluster API; empty means none ["+envPriceFile+"]")
	return s
}

// LaunchTimeoutOf returns the launch timeout of a controller. setting returns one of its settings by flag and environment
// variable, or the last argument if it is not set. A value that is no duration counts as not set: the controller refuses it.
func LaunchTimeoutOf(setting func(flag, env, otherwise string) string) time.Duration {
	d, err := time.ParseDuration(setting(flagLaunchTimeout, envLaunchTimeout, ""))
	if err != nil {
		return DefaultLaunchTimeout
	}
	return d
}

// Complete reads environment variables. Flags take precedence.
func (s *Settings) Complete() {
	if !s.flags.Changed(flagManagementKubeconfig) {
		s.ManagementKubeconfig = cmp.Or(os.Getenv(envManagementKubeconfig), s.ManagementKubeconfig)
	}
	if text := os.Getenv(envLaunchTimeout); text != "" && !s.flags.Changed(flagLaunchTimeout) {
		if d, err := time.ParseDuration(text); err == nil {
			s.LaunchTimeout = d
		} else {
			s.wrong = flagtype.Mismatch(text, s.flags.Lookup(flagLaunchTimeout).Value)
		}
	}
	if !s.flags.Changed(flagPriceFile) {
		s.PriceFile = cmp.Or(os.Getenv(envPriceFile), s.PriceFile)
	}
}

// Validate reads environment variables, and returns an error for each setting that cannot be used.
func (s *Settings) Validate() error {
	s.Complete()
	var errs []error
	if s.ManagementKubeconfig != "" {
		if _, err := os.Stat(s.ManagementKubeconfig); err != nil {
			errs = append(errs, fmt.Errorf("--%s (%s): %w", flagManagementKubeconfig, envManagementKubeconfig, err))
		}
	}
	wrong := s.wrong
	if wrong == nil && (s.LaunchTimeout < cloud.MinLaunchTimeout || s.LaunchTimeout > cloud.MaxLaunchTimeout) {
		wrong = fmt.Errorf("%v is not between %v and %v", s.LaunchTimeout, cloud.MinLaunchTimeout, cloud.MaxLaunchTimeout)
	}
	if wrong != nil {
		errs = append(errs, fmt.Errorf("--%s (%s): %w", flagLaunchTimeout, envLaunchTimeout, wrong))
	}
	if s.PriceFile != "" {
		data, err := os.ReadFile(s.PriceFile)
		if err == nil {
			_, err = parsePrices(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s (%s): %w", flagPriceFile, envPriceFile, err))
		}
	}
	return errors.Join(errs...)
}
