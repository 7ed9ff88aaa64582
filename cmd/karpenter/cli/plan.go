package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// planning has the flags of plan.
type planning struct {
	// input selects the cluster. It has manifests only in the tool plan of the command mcp. The command plan has none: its -f
	// is a change.
	input
	solver
	output output
	change whatIf
}

func planCommand() *cobra.Command {
	var x planning
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
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error { return x.run(cmd) }),
	}
	x.cataloguing.addFlags(c)
	x.solver.addFlags(c)
	x.output.addFlagWithYAML(c)
	x.change.addFlags(c)
	return c
}

func (x *planning) run(cmd *cobra.Command) error {
	for _, check := range []func() error{x.output.checkWithYAML, x.cataloguing.check, x.solver.check, x.change.check} {
		if err := check(); err != nil {
			return err
		}
	}
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	a, err := x.answer(cmd, p)
	if err != nil {
		return err
	}
	p.pause()
	return x.output.print(cmd, a)
}

// answer returns the decisions, or the effect of the change if a change is given. Warnings are written to stderr.
func (x *planning) answer(cmd *cobra.Command, p *progress) (answer, error) {
	l, run, static, err := x.decide(cmd, p)
	if err != nil {
		return answer{}, err
	}
	if x.change.given() {
		result, err := x.change.compare(cmd, l, run)
		result.Controller = x.controller.shown()
		return answer{result, func(s report.Style) string { return s.WhatIf(result) }}.of(x.controller), err
	}
	p.say("checking disruption of " + units.Counted(len(run.Snapshot.Nodes()), "node"))
	d := run.Disrupt(x.controller.disruption(len(x.files) > 0), time.Now)
	static = append(static, d.StaticLaunches()...)
	p.pause()
	tellFaults(cmd, run)
	e := explain.New(run.Snapshot, run.Options.Labels)
	text := func(s report.Style) string {
		parts := []string{s.Plan(run.Plan, e), s.Disruption(d)}
		if len(static) > 0 {
			parts = append([]string{s.Static(static)}, parts...)
		}
		return strings.Join(parts, "\n")
	}
	result := resultOf(run, static, d, e)
	result.Controller = x.controller.shown()
	return answer{result, text}.of(x.controller), nil
}

// decide makes a plan for the manifests, or for the cluster if there are none. static are nodes that static NodePools of
// the manifests lack.
func (x *planning) decide(cmd *cobra.Command, p *progress) (l *liveState, run *offline.Run, static []offline.NodeResult, err error) {
	if len(x.files) == 0 {
		if l, err = x.readLive(cmd, p, &x.solver); err != nil {
			return nil, nil, nil, err
		}
		p.say("planning for " + units.Counted(len(l.snapshot.Pending()), "pod"))
		return l, l.decide(), nil, nil
	}
	c, set, catalogue, err := x.readAll(cmd, p, &x.solver)
	if err != nil {
		return nil, nil, nil, err
	}
	p.say("planning for " + units.Counted(len(c.Delta.Pods), "pod"))
	run = c.Decide(x.options(), 1, time.Now)
	found := &live.Cluster{
		Snapshot: run.Snapshot, Pools: manifest.Of[*apiv1.NodePool](set), Classes: manifest.Of[*awsv1.EC2NodeClass](set),
		Overlays: manifest.Of[*overlayv1alpha1.NodeOverlay](set),
	}
	return &liveState{found: found, catalogue: catalogue, snapshot: run.Snapshot, options: run.Options}, run, c.Static, nil
}
