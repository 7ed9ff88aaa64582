package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/operator"
)

// withCommit returns v with the commit that the go command recorded in the binary, if v has none.
func withCommit(v operator.Version) operator.Version {
	if info, ok := debug.ReadBuildInfo(); ok && v.Commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	return v
}

func versionCommand(v operator.Version) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version and commit of the program, and the Go version and architecture it was built for.",
		Example: "  karpenter version\n  karpenter version -o json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case "text":
				of := []string{runtime.Version(), runtime.GOARCH}
				if v.Commit != "" {
					of = append([]string{"commit " + v.Commit}, of...)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "karpenter %s (%s)\n", v.Number, strings.Join(of, ", "))
				return nil
			case "json":
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]string{
					"version": v.Number, "commit": v.Commit, "go": runtime.Version(), "arch": runtime.GOARCH,
				})
			}
			return coded{exitUsage, fmt.Errorf("--output: unknown format %q, use text or json", output)}
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "text", "Output format: text or json")
	return c
}
