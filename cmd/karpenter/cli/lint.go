package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/finding"
	"github.com/karpenter-go/karpenter/internal/lint"
	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
)

func lintCommand(version operator.Version) *cobra.Command {
	var files []string
	var output, region string
	c := &cobra.Command{
		Use:   "lint -f FILE|DIR|-",
		Short: "Find mistakes in manifests",
		Long: "Find mistakes in manifests: objects that the API server or the controller would reject, requirements that no instance\n" +
			"type meets, NodePools that overlap, disruption budgets that are always or never active, spot NodePools with few\n" +
			"instance types. Print each finding with its fix. Nothing is sent over the network.\n" +
			"Instance types and zones are those of the built-in catalog. Values that may be newer than the catalog are notes.\n\n" +
			"Exit code 1 if there are errors, or if the input has no manifest. With warnings and notes alone it is 0.",
		Example: "  karpenter lint -f manifests/\n" +
			"  karpenter lint -f pool.yaml -o json | jq '.[].message'\n" +
			"  karpenter lint -f manifests/ -o sarif > karpenter.sarif    # for code scanning",
		Args: noArgs,
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, filesUsage)
	c.Flags().StringVarP(&output, "output", "o", "text", "Output format: text, json or sarif")
	c.Flags().StringVar(&region, "region", "us-east-1", "Region of NodePools whose requirements name no zone")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(files) == 0 {
			return errNoFiles
		}
		if output != "text" && output != "json" && output != "sarif" {
			return coded{exitUsage, fmt.Errorf("--output: unknown format %q, use text, json or sarif", output)}
		}
		read, err := readManifests(files, cmd.InOrStdin())
		if err != nil {
			return err
		}
		in := make([]lint.File, len(read))
		for i, f := range read {
			in[i] = lint.File(f)
		}
		findings, err := lint.Check(cmd.Context(), in, lint.Options{
			Types: typesForLint, AsOf: catalog.AsOf(), Names: catalog.Names(), Judge: judge, Region: region,
		})
		if err != nil {
			return err
		}
		if err := printFindings(cmd.OutOrStdout(), output, version.Number, findings); err != nil {
			return err
		}
		if n := count(findings, finding.Error); n > 0 {
			return fmt.Errorf("%s in %s", units.Counted(n, "error"), units.Counted(len(in), "file"))
		}
		return nil
	}
	return c
}

// typesForLint returns the instance types of the catalogue in the binary, as far as class allows them; class may be
// nil. It returns none for an unknown region.
func typesForLint(region string, class *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	types, err := catalog.Shipped(region)
	if class != nil {
		types, err = catalog.ShippedFor(region, class)
	}
	if err != nil {
		return nil, nil
	}
	return types, nil
}

// judge returns the reason why the controller would reject a node class, "" if it would not. The feature gate for
// expressions is assumed to be on, because lint does not read the controller's settings.
func judge(class *awsv1.EC2NodeClass) string { return nodeclass.Judge(class, true).Message }

// printFindings writes findings as text, JSON or SARIF; SARIF names the version of the program.
func printFindings(w io.Writer, output, version string, findings []lint.Finding) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	switch output {
	case "sarif":
		return encoder.Encode(lint.SARIF(version, findings))
	case "json":
		if findings == nil {
			findings = []lint.Finding{}
		}
		return encoder.Encode(findings)
	}
	for _, f := range findings {
		fmt.Fprintln(w, f)
	}
	_, err := fmt.Fprintf(w, "%s, %s, %s\n", units.Counted(count(findings, finding.Error), "error"),
		units.Counted(count(findings, finding.Warning), "warning"), units.Counted(count(findings, finding.Note), "note"))
	return err
}

func count(findings []lint.Finding, severity finding.Level) int {
	n := 0
	for _, f := range findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}
