package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/internal/report"
)

func planCommand() *cobra.Command {
	var types cataloguing
	var knobs solver
	var out output
	c := &cobra.Command{
		Use:   "plan",
		Short: "Tell what would be decided in a cluster now",
		Long: "Tell what would be decided in a cluster now: nodes for the pods that wait, and what disruption would do.\n\n" +
			"The cluster is that of KUBECONFIG. It is only read. Prices are those of the table in the binary, shaped by the\n" +
			"node classes; what the cloud has in stock is not known here.",
		Example: "  karpenter plan\n" +
			"  karpenter plan -o json | jq .costPerHour",
		Args: cobra.NoArgs,
	}
	types.addFlags(c)
	knobs.addFlags(c)
	out.addFlag(c)
	c.RunE = interruptible(func(cmd *cobra.Command, _ []string) error {
		for _, check := range []func() error{out.check, types.check, knobs.check} {
			if err := check(); err != nil {
				return err
			}
		}
		p := newProgress(cmd.ErrOrStderr())
		defer p.end()
		run, _, err := types.decideLive(cmd, p, knobs.options(), knobs.spread())
		if err != nil {
			return err
		}
		p.say("weighing " + report.Count(len(run.Snapshot.Nodes()), "node"))
		d := run.Disrupt(disrupt.Options{}, time.Now)
		p.pause()
		tellFaults(cmd, run)
		e := explain.New(run.Snapshot, run.Options.Labels)
		if out == asJSON {
			return printJSON(cmd.OutOrStdout(), resultOf(run, d, e))
		}
		style := styleOf(cmd.OutOrStdout())
		_, err = io.WriteString(cmd.OutOrStdout(), style.Plan(run.Plan, e)+"\n"+style.Disruption(d))
		return err
	})
	return c
}
