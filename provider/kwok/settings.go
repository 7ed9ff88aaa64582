package kwok

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/cloud"
)

// Settings are the provider's own.
type Settings struct {
	// InstanceTypesFilePath names a JSON file of instance types; empty for the generic ones.
	InstanceTypesFilePath string

	flag *pflag.Flag
}

// variable is the environment variable of the only setting.
const variable = "INSTANCE_TYPES_FILE_PATH"

// AddFlags adds the provider's flag to fs and returns the settings that it will fill.
func AddFlags(fs *pflag.FlagSet) *Settings {
	s := &Settings{}
	const name = "instance-types-file-path"
	fs.StringVar(&s.InstanceTypesFilePath, name, "",
		"JSON file of the instance types of the kwok provider; empty means 144 generic ones ["+variable+"]")
	s.flag = fs.Lookup(name)
	return s
}

// Types returns the instance types that the settings name, the flag before its variable.
func (s *Settings) Types() ([]*cloud.InstanceType, error) {
	path := s.InstanceTypesFilePath
	if !s.flag.Changed && os.Getenv(variable) != "" {
		path = os.Getenv(variable)
	}
	if path == "" {
		return GenericTypes(), nil
	}
	types, err := Load(path)
	if err != nil {
		return nil, fmt.Errorf("--%s (%s): %w", s.flag.Name, variable, err)
	}
	return types, nil
}
