package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/migrate"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
)

func migrateCommand() *cobra.Command {
	var files []string
	var from, region string
	var options migrate.Options
	c := &cobra.Command{
		Use:   "migrate --from nodegroups -f FILE|-",
		Short: "Write NodePools and node classes for node groups, and a plan to get there",
		Long: "Read what EKS and Auto Scaling answer about node groups, as JSON, and write a NodePool for each group and the\n" +
			"node classes that they need. The manifests go to standard output; notes and the plan go to standard error.\n" +
			"Nothing is changed anywhere.",
		Example: "  aws eks describe-nodegroup --cluster-name demo --nodegroup-name general > general.json\n" +
			"  aws autoscaling describe-auto-scaling-groups > groups.json\n" +
			"  karpenter migrate --from nodegroups -f general.json -f groups.json > pools.yaml",
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&from, "from", "", "what to migrate from: nodegroups")
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "file or directory of answers in JSON, - for standard input; may be repeated")
	c.Flags().StringVar(&options.Cluster, "cluster-name", "", "name of the cluster, if the groups do not say")
	c.Flags().StringVar(&region, "region", "us-east-1", "region whose prices are shown")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if from != "nodegroups" {
			return coded{exitUsage, fmt.Errorf("--from is %q, want nodegroups; for manifests of older APIs there is karpenter convert", from)}
		}
		if len(files) == 0 {
			return coded{exitUsage, errors.New("-f FILE is missing; - reads standard input")}
		}
		in, err := readManifests(files, cmd.InOrStdin())
		if err != nil {
			return err
		}
		var all bytes.Buffer
		for _, f := range in {
			all.Write(append(f.Data, '\n'))
		}
		options.Price = priceIn(region)
		result, err := migrate.Groups(in[0].Name, &all, options)
		if err != nil {
			return err
		}
		for _, n := range result.Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note:", n)
		}
		for i, s := range result.Steps {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d. %s\n", i+1, s)
		}
		fmt.Fprint(cmd.OutOrStdout(), result.Manifests)
		return nil
	}
	return c
}

// priceIn returns the prices of the table in the binary, the least of all zones.
func priceIn(region string) func(string, bool) (float64, bool) {
	types, err := catalog.Shipped(region)
	if err != nil {
		return nil
	}
	return func(name string, spot bool) (float64, bool) {
		best, ok := 0.0, false
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
}
