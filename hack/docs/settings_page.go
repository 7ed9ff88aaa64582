package main

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
	"github.com/karpenter-go/karpenter/provider/kwok"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// settingsPage renders docs/settings.md from the flags of the program.
func settingsPage() []byte {
	sets := [5]*pflag.FlagSet{}
	for i := range sets {
		sets[i] = pflag.NewFlagSet("page", pflag.ContinueOnError)
	}
	settings.AddFlags(sets[0])
	aws.AddFlags(sets[1])
	kwok.AddFlags(sets[2])
	clusterapi.AddFlags(sets[3])
	remote.AddFlags(sets[4])
	var b bytes.Buffer
	b.WriteString(generated + `
# Settings

For operators who configure ` + "`karpenter controller`" + `. It reads flags and environment variables. A flag takes precedence over its
variable, and an empty variable counts as absent. A flag that cannot be parsed ends the program at once. All other errors are reported
together, with the names of flag and variable. In both cases the exit code is 2.

Booleans need a value: ` + "`--disable-leader-election=true`" + `. Durations are Go's: ` + "`10s`, `1m30s`" + `. In the Helm chart most
settings are under ` + "`settings`" + `, named in camel case: [charts](charts.md#flags-and-values) lists the others. Some settings of
upstream are accepted and [have no effect](compat.md#settings-without-effect).

## Core

`)
	flagTable(&b, sets[0])
	b.WriteString("\n## AWS\n\n")
	flagTable(&b, sets[1])
	b.WriteString("\n## KWOK\n\n")
	flagTable(&b, sets[2])
	b.WriteString("\n## Cluster API\n\n")
	flagTable(&b, sets[3])
	b.WriteString("\n## Providers in other processes\n\n")
	flagTable(&b, sets[4])
	b.WriteString("\n## Feature gates\n\nGiven as `--feature-gates Name=true,Name=false`. A gate that does not exist is an error if it is switched on, and a" +
		" log line if\nit is switched off. `--aws-feature-gates` ignores the latter. Meanings, and the gates of the AWS" +
		" provider:\n[feature gates](feature-gates.md).\n\n| Gate | Default |\n|---|---|\n")
	gates := reflect.ValueOf(settings.DefaultFeatureGates())
	for i := range gates.NumField() {
		fmt.Fprintf(&b, "| `%s` | %t |\n", gates.Type().Field(i).Name, gates.Field(i).Bool())
	}
	return b.Bytes()
}

// flagTable renders the flags of a set, in the order of their names.
func flagTable(b *bytes.Buffer, fs *pflag.FlagSet) {
	var flags []*pflag.Flag
	fs.VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
	slices.SortFunc(flags, func(a, b *pflag.Flag) int { return cmp.Compare(a.Name, b.Name) })
	b.WriteString("| Flag | Variable | Default | Meaning |\n|---|---|---|---|\n")
	for _, f := range flags {
		meaning, variable := splitUsage(f.Usage)
		fmt.Fprintf(b, "| `--%s` | %s | %s | %s |\n", f.Name, code(variable), code(f.DefValue),
			strings.ReplaceAll(meaning, "|", `\|`))
	}
}

// splitUsage splits a flag's help into the text and the environment variable in brackets at its end.
func splitUsage(usage string) (meaning, variable string) {
	meaning, rest, ok := strings.Cut(usage, " [")
	if !ok {
		return usage, ""
	}
	return meaning, strings.TrimSuffix(rest, "]")
}

// code formats text as code; an empty text becomes a dash.
func code(text string) string {
	if text == "" {
		return "–"
	}
	return "`" + text + "`"
}
