package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/internal/migrate"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
)

func migrateCommand() *cobra.Command {
	var files []string
	var from string
	var options migrate.Options
	var out output
	c := &cobra.Command{
		Use:   "migrate --from nodegroups -f FILE|-",
		Short: "Generate NodePools and EC2NodeClasses from node groups, and a migration plan",
		Long: "Read the JSON output of aws eks describe-nodegroup and aws autoscaling describe-auto-scaling-groups. Generate a\n" +
			"NodePool for each group, and the EC2NodeClasses that they need. Print the manifests to standard output, and notes\n" +
			"and the migration plan to standard error. With -o json print one object to standard output. The command changes\n" +
			"nothing.",
		Example: "  aws eks describe-nodegroup --cluster-name demo --nodegroup-name general > general.json\n" +
			"  aws autoscaling describe-auto-scaling-groups > groups.json\n" +
			"  karpenter migrate --from nodegroups -f general.json -f groups.json > pools.yaml\n" +
			"  karpenter migrate --from nodegroups -f general.json -o json | jq -r '.steps[].commands[]?'",
		Args: noArgs,
	}
	c.Flags().StringVar(&from, "from", "", "Source of the migration: nodegroups (required)")
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "File or directory of JSON output of the AWS CLI, - for standard input; may be repeated")
	c.Flags().StringVar(&options.Cluster, "cluster-name", "", "Name of the cluster (default: the one that the groups name)")
	c.Flags().StringVar(&options.Region, "region", "", "Region of the prices (default: that of the groups)")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if from != "nodegroups" {
			return coded{exitUsage, fmt.Errorf("--from: unknown source %q, use nodegroups; to convert manifests of older API versions use karpenter convert", from)}
		}
		if len(files) == 0 {
			return errNoFiles
		}
		if err := out.check(); err != nil {
			return err
		}
		if _, err := catalog.Shipped(options.Region); options.Region != "" && err != nil {
			return coded{exitUsage, fmt.Errorf("--region: %w", err)}
		}
		read, err := readManifests(files, cmd.InOrStdin())
		if err != nil {
			return err
		}
		in := make([]migrate.File, len(read))
		for i, f := range read {
			in[i] = migrate.File(f)
		}
		options.Price = cheapestIn
		result, err := migrate.Groups(in, options)
		if err != nil {
			return err
		}
		if out == asJSON {
			return printMigration(cmd.OutOrStdout(), result)
		}
		for _, n := range result.Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note:", n)
		}
		for i, s := range result.Steps {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d. %s\n", i+1, s)
		}
		_, err = io.WriteString(cmd.OutOrStdout(), strings.Join(result.Manifests, "---\n"))
		return err
	}
	return c
}

// printMigration writes a result as JSON. Lists are never null.
func printMigration(w io.Writer, r migrate.Result) error {
	out := struct {
		Manifests []map[string]any `json:"manifests"`
		Notes     []migrate.Note   `json:"notes"`
		Steps     []migrate.Step   `json:"steps"`
	}{[]map[string]any{}, append([]migrate.Note{}, r.Notes...), append([]migrate.Step{}, r.Steps...)}
	for _, text := range r.Manifests {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			return fmt.Errorf("parse the generated manifest: %w", err)
		}
		out.Manifests = append(out.Manifests, object)
	}
	return printJSON(w, out)
}

// cheapestIn returns the lowest price of a type in the zones of a region, according to the catalogue in the binary.
func cheapestIn(region, name string, spot bool) (best float64, ok bool) {
	types, err := catalog.Shipped(region)
	if err != nil {
		return 0, false
	}
	for _, t := range types {
		if t.Name != name {
			continue
		}
		for _, o := range t.Offerings {
			if spot == (o.CapacityType == "spot") && (!ok || o.Price < best) {
				best, ok = o.Price, true
			}
		}
	}
	return best, ok
}
