package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

func (a *app) awsInstances() *cobra.Command {
	var output string
	var cmd *cobra.Command
	cmd = a.emulatorCommand(&cobra.Command{
		Use:   "instances",
		Short: "List the instances of the account",
		Example: "  karpenter-local aws instances\n" +
			"  karpenter-local aws instances -o json",
	}, cobra.NoArgs, func(ctx context.Context, c control.Client, _ []string) error {
		list, err := c.Instances(ctx)
		if err != nil {
			return err
		}
		return show(cmd.OutOrStdout(), output, list, func(w io.Writer) {
			fmt.Fprintln(w, "INSTANCE\tSTATE\tTYPE\tZONE\tCAPACITY\t$/H\tNODE")
			for _, i := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.4f\t%s\n",
					i.ID, i.State, i.Type, i.Zone, i.Capacity, i.PricePerHour, i.Node)
			}
		})
	})
	outputFlag(cmd, &output)
	return cmd
}

func (a *app) awsBill() *cobra.Command {
	var output, since string
	var cmd *cobra.Command
	cmd = a.emulatorCommand(&cobra.Command{
		Use:   "bill",
		Short: "Show what the account has been charged",
		Long: "Show what the account has been charged for each instance: from its launch until it began to shut down. The price of\n" +
			"spot instances follows the market.",
		Example: "  karpenter-local aws bill\n" +
			"  karpenter-local aws bill --since 1h -o json",
	}, cobra.NoArgs, func(ctx context.Context, c control.Client, _ []string) error {
		from, err := sinceTime(since, time.Now())
		if err != nil {
			return err
		}
		bill, err := c.Bill(ctx, from)
		if err != nil {
			return err
		}
		return show(cmd.OutOrStdout(), output, bill, func(w io.Writer) {
			fmt.Fprintln(w, "INSTANCE\tTYPE\tZONE\tCAPACITY\tFROM\tTO\tDOLLARS")
			for _, i := range bill.Instances {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.6f\n", i.ID, i.Type, i.Zone, i.CapacityType,
					i.From.Local().Format(time.DateTime), i.To.Local().Format(time.DateTime), i.Dollars)
			}
			fmt.Fprintf(w, "total\t\t\t\t\t\t%.6f\n", bill.Dollars)
		})
	})
	outputFlag(cmd, &output)
	cmd.Flags().StringVar(&since, "since", "", "Only charges since then: a duration such as 1h, or a time such as 2026-01-02T15:04:05Z")
	return cmd
}

// sinceTime parses a duration before now, or a time in RFC 3339. It returns the zero time if text is empty.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--since: %q is neither a duration such as 1h nor a time such as 2026-01-02T15:04:05Z", text)
	}
	return at, nil
}

func (a *app) awsCalls() *cobra.Command {
	var output string
	var since int64
	var cmd *cobra.Command
	cmd = a.emulatorCommand(&cobra.Command{
		Use:   "calls",
		Short: "List the API calls that the account has received",
		Example: "  karpenter-local aws calls\n" +
			"  karpenter-local aws calls --since 100 -o json",
	}, cobra.NoArgs, func(ctx context.Context, c control.Client, _ []string) error {
		list, err := c.Calls(ctx, since)
		if err != nil {
			return err
		}
		return show(cmd.OutOrStdout(), output, list, func(w io.Writer) {
			fmt.Fprintln(w, "SEQ\tTIME\tSERVICE\tACTION\tSTATUS\tCODE")
			for _, call := range list {
				fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\n", call.Seq,
					call.Time.Local().Format("15:04:05.000"), call.Service, call.Action, call.Status, call.Code)
			}
		})
	})
	outputFlag(cmd, &output)
	cmd.Flags().Int64Var(&since, "since", 0, "Only calls with a greater sequence number")
	return cmd
}

func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "Output format: text or json")
}

// show prints value as JSON, or as the table that the function text writes. The table has one line per row and tabs
// between the columns.
func show(w io.Writer, output string, value any, text func(io.Writer)) error {
	switch output {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	case "text":
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		text(table)
		return table.Flush()
	}
	return usageError{fmt.Errorf("--output: unknown format %q, use text or json", output)}
}
