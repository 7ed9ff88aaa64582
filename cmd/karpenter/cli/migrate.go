package cli

import (
	"errors"
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
		Short: "Write NodePools and node classes for node groups, and a plan to get there",
		Long: "Read what EKS and Auto Scaling answer about node groups, as JSON, and write a NodePool for each group and the\n" +
			"node classes that they need. The manifests go to standard output; notes and the plan go to standard error.\n" +
			"With -o json all goes to standard output as one object. Nothing is changed anywhere.",
		Example: "  aws eks describe-nodegroup --cluster-name demo --nodegroup-name general > general.json\n" +
			"  aws autoscaling describe-auto-scaling-groups > groups.json\n" +
			"  karpenter migrate --from nodegroups -f general.json -f groups.json > pools.yaml\n" +
			"  karpenter migrate --from nodegroups -f general.json -o json | jq -r '.steps[].commands[]?'",
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&from, "from", "", "what to migrate from: nodegroups")
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "file or directory of answers in JSON, - for standard input; may be repeated")
	c.Flags().StringVar(&options.Cluster, "cluster-name", "", "name of the cluster, if the groups do not say")
	c.Flags().StringVar(&options.Region, "region", "", "region whose prices are shown (default: that of the groups)")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if from != "nodegroups" {
			return coded{exitUsage, fmt.Errorf("--from is %q, want nodegroups; for manifests of older APIs there is karpenter convert", from)}
		}
		if len(files) == 0 {
			return coded{exitUsage, errors.New("-f FILE is missing; - reads standard input")}
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
			return fmt.Errorf("read what was written: %w", err)
		}
		out.Manifests = append(out.Manifests, object)
	}
	return printJSON(w, out)
}

// cheapestIn returns the price of a type in the table of the binary, the least of a region's zones.
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
