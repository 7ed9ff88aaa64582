package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/units"
)

func planCommand() *cobra.Command {
	var types cataloguing
	var knobs solver
	var out output
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show the decisions the controller would make now",
		Long: "Show the decisions the controller would make now: nodes for pending pods, and nodes to disrupt.\n\n" +
			"The cluster is the one that KUBECONFIG selects. It is only read. Instance types and prices are those of the\n" +
			"built-in catalog, restricted by the node classes. The available capacity of the cloud is not known.\n\n" +
			"With -f, --without-node or --with-price, show instead what that change would do: nodes that drift, instance types\n" +
			"lost and won, launches, evictions, and the price before and after. Nothing is applied.",
		Example: "  karpenter plan\n" +
			"  karpenter plan -o json | jq .costPerHour\n" +
			"  karpenter plan -f nodepool.yaml                      # before kubectl apply -f nodepool.yaml\n" +
			"  karpenter plan --without-node ip-10-0-0-4.ec2.internal\n" +
			"  karpenter plan --with-price m7a.large=0.05",
		Args: noArgs,
	}
	types.addFlags(c)
	knobs.addFlags(c)
	out.addFlag(c)
	var change whatIf
	change.addFlags(c)
	c.RunE = interruptible(func(cmd *cobra.Command, _ []string) error {
		for _, check := range []func() error{out.check, types.check, knobs.check, change.check} {
			if err := check(); err != nil {
				return err
			}
		}
		p := newProgress(cmd.ErrOrStderr())
		defer p.end()
		l, err := types.readLive(cmd, p, knobs.options(), knobs.spread())
		if err != nil {
			return err
		}
		p.say("planning for " + units.Counted(len(l.snapshot.Pending()), "pod"))
		run := l.decide()
		if change.given() {
			return change.print(cmd, p, out, l, run)
		}
		p.say("checking disruption of " + units.Counted(len(run.Snapshot.Nodes()), "node"))
		d := run.Disrupt(disrupt.Options{}, time.Now)
		p.pause()
		tellFaults(cmd, run)
		e := explain.New(run.Snapshot, run.Options.Labels)
		if out == asJSON {
			return printJSON(cmd.OutOrStdout(), resultOf(run, nil, d, e))
		}
		style := styleOf(cmd.OutOrStdout())
		_, err = io.WriteString(cmd.OutOrStdout(), style.Plan(run.Plan, e)+"\n"+style.Disruption(d))
		return err
	})
	return c
}
