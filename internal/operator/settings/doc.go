// Package settings has the settings of the controller. It reads flags and environment variables into one struct and
// validates it.
//
// Each setting has a flag and an environment variable. Settings that upstream Karpenter has, too, have its names. The flag
// takes precedence. An empty variable counts as missing, because a Helm chart sets it so for an unset value. All invalid
// settings are reported together, each with its flag and variable. A setting that is only suspicious, such as an unknown
// feature gate that is switched off, is a warning, so that the controller still starts.
//
// The settings of a provider are in its own package.
package settings
