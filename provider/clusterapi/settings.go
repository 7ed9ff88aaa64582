package clusterapi

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// Settings are the settings of the provider.
type Settings struct {
	// ManagementKubeconfig is the path of the kubeconfig of the management cluster; empty if it is the workload cluster.
	ManagementKubeconfig string
	// PriceFile is the path of a table of prices, empty for none.
	PriceFile string

	flags *pflag.FlagSet
}

// The flags and environment variables of the provider.
const (
	flagManagementKubeconfig = "management-kubeconfig"
	envManagementKubeconfig  = "MANAGEMENT_KUBECONFIG"
	flagPriceFile            = "price-file"
	envPriceFile             = "PRICE_FILE"
)

// AddFlags adds the provider's flags to fs and returns the settings that parsing and Complete set.
func AddFlags(fs *pflag.FlagSet) *Settings {
	s := &Settings{flags: fs}
	fs.StringVar(&s.ManagementKubeconfig, flagManagementKubeconfig, "",
		"Kubeconfig of the management cluster of Cluster API; empty means the cluster of the nodes ["+envManagementKubeconfig+"]")
	fs.StringVar(&s.PriceFile, flagPriceFile, "",
		"YAML file of the prices of templates of Cluster API; empty means none ["+envPriceFile+"]")
	return s
}

// Complete reads environment variables. Flags take precedence.
func (s *Settings) Complete() {
	if !s.flags.Changed(flagManagementKubeconfig) {
		s.ManagementKubeconfig = cmp.Or(os.Getenv(envManagementKubeconfig), s.ManagementKubeconfig)
	}
	if !s.flags.Changed(flagPriceFile) {
		s.PriceFile = cmp.Or(os.Getenv(envPriceFile), s.PriceFile)
	}
}

// Validate returns an error for each file that cannot be used.
func (s *Settings) Validate() error {
	s.Complete()
	var errs []error
	if s.ManagementKubeconfig != "" {
		if _, err := os.Stat(s.ManagementKubeconfig); err != nil {
			errs = append(errs, fmt.Errorf("--%s (%s): %w", flagManagementKubeconfig, envManagementKubeconfig, err))
		}
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
