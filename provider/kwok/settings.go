package kwok

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/cloud"
)

// Settings are the settings of the provider.
type Settings struct {
	// InstanceTypesFilePath is the path of a JSON file with instance types. If it is empty, GenericTypes are used.
	InstanceTypesFilePath string

	flag *pflag.Flag
}

// variable is the environment variable of the only setting.
const variable = "INSTANCE_TYPES_FILE_PATH"

// AddFlags adds the provider's flag to fs and returns the settings that parsing sets.
func AddFlags(fs *pflag.FlagSet) *Settings {
	s := &Settings{}
	const name = "instance-types-file-path"
	fs.StringVar(&s.InstanceTypesFilePath, name, "",
		"JSON file of the instance types of the kwok provider; empty means 144 generic ones ["+variable+"]")
	s.flag = fs.Lookup(name)
	return s
}

// Types returns the instance types of the file, or GenericTypes without a file. The flag takes precedence over its
// environment variable.
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
