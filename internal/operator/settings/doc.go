// Package settings decides how the controller runs: it turns flags and environment variables into one struct that holds
// only valid values.
//
// Every setting has a flag and a variable, both under upstream's names; the flag wins. An empty variable counts as absent,
// because that is what an unset value of a Helm chart looks like. Everything that is wrong is reported at once, and each
// error names the flag and the variable. What is merely suspicious, such as a feature gate that does not exist, is a
// warning: a cluster must not stop scaling over it.
//
// Settings of one provider are not here; a provider brings its own.
package settings
