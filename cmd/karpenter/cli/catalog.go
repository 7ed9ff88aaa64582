package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/catalogue"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

func catalogCommand() *cobra.Command {
	var out output
	region, provider := offline.DefaultRegion, ""
	c := &cobra.Command{
		Use:   "catalog",
		Short: "Print the built-in instance type and price catalog",
		Long: "Print the built-in catalog of instance types and prices.\n\n" +
			"The JSON output is the input format of --catalog of simulate, plan and explain. Edit it to try other prices or\n" +
			"fewer instance types.",
		Example: "  karpenter catalog --region eu-west-1\n" +
			"  karpenter catalog -o json | jq '[.[] | select(.arch == \"arm64\")]' > types.json",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			types, err := offline.TypesOf(provider, region)
			if err != nil {
				return coded{exitUsage, err}
			}
			if out == asJSON {
				return printList(cmd.OutOrStdout(), types)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), styleOf(cmd.OutOrStdout()).Types(rows(types)))
			if err != nil {
				return fmt.Errorf("print: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&region, "region", offline.DefaultRegion, "Region of the catalog")
	c.Flags().StringVar(&provider, "provider", "aws", "Cloud provider: aws or kwok")
	out.addFlag(c)
	return c
}

// printList writes an array with a line for each item.
func printList[T any](w io.Writer, list []T) error {
	between := "["
	for _, v := range list {
		line, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if _, err := fmt.Fprintf(w, "%s\n%s", between, line); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		between = ","
	}
	_, err := fmt.Fprintln(w, strings.Repeat("[", max(1-len(list), 0))+"\n]")
	return err
}

// rows returns a row for each type, with its lowest price for each capacity type.
func rows(types []catalogue.Type) []report.TypeRow {
	out := make([]report.TypeRow, len(types))
	for i, t := range types {
		row := report.TypeRow{Name: t.Name, Arch: t.Arch, CPU: t.Allocatable["cpu"], Memory: t.Allocatable["memory"], Pods: t.Allocatable["pods"]}
		zones := map[string]bool{}
		for _, o := range t.Offerings {
			zones[o.Zone] = true
			switch best := row.Prices[o.CapacityType]; {
			case row.Prices == nil:
				row.Prices = map[string]float64{o.CapacityType: o.Price}
			case best == 0 || o.Price < best:
				row.Prices[o.CapacityType] = o.Price
			}
		}
		row.Zones = len(zones)
		out[i] = row
	}
	return out
}
