package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Decisive returns the names of the flags on which decisions depend, in alphabetical order.
func Decisive() []string {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Settings{}).addDecisionFlags(fs)
	names := []string{"provider"}
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	slices.Sort(names)
	return names
}

// Published returns the settings on which decisions depend as JSON: an object with the text of each flag by its name.
// DecodePublished and then Restore are the inverse.
func (s *Settings) Published() string {
	values := map[string]string{}
	for _, name := range Decisive() {
		values[name] = s.flags.Lookup(name).Value.String()
	}
	data, err := json.Marshal(values)
	if err != nil {
		return "" // cannot happen for strings
	}
	return string(data)
}

// DecodePublished returns the texts of flags by name from the result of Published.
func DecodePublished(text string) (map[string]string, error) {
	var values map[string]string
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, fmt.Errorf("decode settings: %w", err)
	}
	return values, nil
}

// Restore returns the Settings of a controller whose flags have the given values. Other flags have their defaults. The
// environment of this process is not read. unknown has the names of flags that this version does not know. The error joins
// all values that cannot be parsed or are invalid; the Settings then have the defaults in their place.
func Restore(values map[string]string) (s *Settings, unknown []string, err error) {
	fs := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	s = AddFlags(fs)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if fs.Lookup(name) == nil {
			unknown = append(unknown, name)
			continue
		}
		if err := fs.Set(name, values[name]); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %q cannot be parsed", name, values[name]))
		}
	}
	none := func(string) string { return "" }
	s.complete(none)
	invalid, err := s.validate()
	for _, name := range invalid {
		errs = append(errs, fs.Set(name, fs.Lookup(name).DefValue)) // nil, because each default can be parsed
	}
	s.complete(none)
	return s, unknown, errors.Join(append(errs, err)...)
}

// OfContainer returns the values of decisive flags that the arguments and the environment of a container give. A flag takes
// precedence over its variable, as in the controller. env returns known = false for a variable whose value cannot be read,
// such as one from a Secret. unknown has the names of such decisive variables.
func OfContainer(args []string, env func(name string) (value string, set, known bool)) (values map[string]string, unknown []string) {
	values = map[string]string{}
	names := Decisive()
	for _, name := range names {
		value, set, known := env(variables()[name])
		switch {
		case !known:
			unknown = append(unknown, variables()[name])
		case set && value != "":
			values[name] = value
		}
	}
	for i, arg := range args {
		name, dashed := strings.CutPrefix(arg, "--")
		if !dashed {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		if !slices.Contains(names, name) {
			continue
		}
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		values[name] = value
	}
	return values, unknown
}
