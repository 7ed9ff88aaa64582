package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// explanation are the flags of explain.
type explanation struct {
	input
	solver
	output    output
	namespace string

	// there reads the cluster; nil if it is made of manifests.
	there client.Reader
	// unread says what could not be read of it, and was left out.
	unread []string
}

func explainCommand() *cobra.Command {
	var x explanation
	c := &cobra.Command{
		Use:   "explain pod|node|nodepool NAME",
		Short: "Tell why a pod waits, why a node is there and whether it may go, what a NodePool can do",
		Long: "Tell why a pod waits or where it would go, why a node is what it is and what keeps it, what a NodePool can do.\n\n" +
			"The cluster is that of KUBECONFIG, and is only read; with -f it is made of manifests, as simulate does.\n" +
			"Of a pod there is also what the controller has told in events: where it was planned, and why it was planned again.",
		Example: "  karpenter explain pod web-7d4b9-x2x7q -n shop\n" +
			"  karpenter explain node ip-10-0-0-4.ec2.internal\n" +
			"  karpenter explain nodepool default -f cluster.json\n" +
			"  karpenter explain pod web-7d4b9-x2x7q -n shop -o json | jq '.reasons[].fix'\n" +
			"  karpenter explain pod web-7d4b9-x2x7q -n shop -o json | jq -r '.events[].message'",
		Args: cobra.ExactArgs(2),
		RunE: interruptible(x.run),
	}
	x.input.addFlags(c)
	x.solver.addFlags(c)
	x.output.addFlag(c)
	c.Flags().StringVarP(&x.namespace, "namespace", "n", "default", "namespace of the pod")
	return c
}

func (x *explanation) run(cmd *cobra.Command, args []string) error {
	for _, check := range []func() error{x.output.check, x.cataloguing.check, x.solver.check} {
		if err := check(); err != nil {
			return err
		}
	}
	answer, known := x.subjects(cmd.Context())[args[0]]
	if !known {
		return coded{exitUsage, fmt.Errorf("cannot explain %q, want pod, node or nodepool", args[0])}
	}
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	run, err := x.decide(cmd, p)
	if err != nil {
		return err
	}
	value, text, found := answer(run, args[1])
	p.pause()
	tellFaults(cmd, run)
	warn(cmd.ErrOrStderr(), x.unread)
	if !found {
		return fmt.Errorf("%s %q is not there", args[0], args[1])
	}
	if x.output == asJSON {
		return printJSON(cmd.OutOrStdout(), value)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text(styleOf(cmd.OutOrStdout())))
	return err
}

// decide plans for the manifests, or for the cluster if there are none.
func (x *explanation) decide(cmd *cobra.Command, p *progress) (*offline.Run, error) {
	if len(x.files) == 0 {
		run, there, err := x.decideLive(cmd, p, x.options(), x.spread())
		x.there = there
		return run, err
	}
	c, err := x.read(cmd, p)
	if err != nil {
		return nil, err
	}
	p.say("planning for " + report.Count(len(c.Delta.Pods), "pod"))
	c.Spread.Constraints = x.spread()
	return c.Decide(x.options(), 1, time.Now), nil
}

// A subject answers for a name: the answer as a value for JSON and as text. found=false says that nothing has the name.
type subject func(run *offline.Run, name string) (value any, text func(report.Style) string, found bool)

// subjects are what can be explained.
func (x *explanation) subjects(ctx context.Context) map[string]subject {
	explainer := func(run *offline.Run) *explain.Explainer { return explain.New(run.Snapshot, run.Options.Labels) }
	pod := func(run *offline.Run, name string) (any, func(report.Style) string, bool) {
		a, ok := run.Pod(explainer(run), x.namespace+"/"+name)
		if ok && x.there != nil {
			a.Told = x.told(ctx, a.Of.Object)
		}
		return a, func(s report.Style) string { return s.Pod(a) }, ok
	}
	node := func(run *offline.Run, name string) (any, func(report.Style) string, bool) {
		a, ok := run.Node(run.Disrupt(disrupt.Options{Simulate: len(x.files) > 0}, time.Now), name)
		return a, func(s report.Style) string { return s.Node(a) }, ok
	}
	pool := func(run *offline.Run, name string) (any, func(report.Style) string, bool) {
		a, ok := run.Pool(explainer(run), name)
		return a, func(s report.Style) string { return s.Pool(a) }, ok
	}
	return map[string]subject{"pod": pod, "pods": pod, "node": node, "nodes": node, "nodepool": pool, "nodepools": pool}
}

// told returns the controller's events about a pod. Without the right to list events it returns none and notes that.
func (x *explanation) told(ctx context.Context, pod *corev1.Pod) []offline.EventResult {
	events, err := live.Events(ctx, x.there, pod)
	if err != nil {
		x.unread = append(x.unread, fmt.Sprintf("what the controller has told of the pod is left out: %v", err))
	}
	return offline.Told(events)
}
