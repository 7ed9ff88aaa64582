package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/live"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// explanation has the flags of explain.
type explanation struct {
	input
	solver
	output    output
	namespace string

	// there reads the cluster; nil if the input is manifests.
	there client.Reader
	// unread are warnings about objects that could not be read.
	unread []string
}

func explainCommand() *cobra.Command {
	var x explanation
	c := &cobra.Command{
		Use:   "explain pod|node|nodepool NAME",
		Short: "Explain why a pod is pending, why a node exists and what blocks its disruption",
		Long: "Explain why a pod is pending or where it would be scheduled, why a node exists and what blocks its disruption, and\n" +
			"what a NodePool can launch.\n\n" +
			"The cluster is the one that KUBECONFIG selects; it is only read. With -f the cluster consists of the manifests, as\n" +
			"for simulate. For a pod of a cluster, the controller's events about the pod are printed too.",
		Example: "  karpenter explain pod web-7d4b9-x2x7q -n shop\n" +
			"  karpenter explain node ip-10-0-0-4.ec2.internal\n" +
			"  karpenter explain nodepool default -f cluster.json\n" +
			"  karpenter explain pod web-7d4b9-x2x7q -n shop -o json | jq '.reasons[].fix'\n" +
			"  karpenter explain pod web-7d4b9-x2x7q -n shop -o json | jq -r '.events[].message'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("explain needs a kind and a name, for example: karpenter explain pod NAME -n NAMESPACE")
			}
			return nil
		},
		RunE: interruptible(x.run),
	}
	x.input.addFlags(c)
	x.solver.addFlags(c)
	x.output.addFlagWithYAML(c)
	c.Flags().StringVarP(&x.namespace, "namespace", "n", "default", "Namespace of the pod")
	return c
}

func (x *explanation) run(cmd *cobra.Command, args []string) error {
	for _, check := range []func() error{x.output.checkWithYAML, x.cataloguing.check, x.solver.check} {
		if err := check(); err != nil {
			return err
		}
	}
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	a, err := x.answer(cmd, p, args[0], args[1])
	if err != nil {
		return err
	}
	return x.output.print(cmd, a)
}

// answer explains the object with a name. Warnings are written to stderr.
func (x *explanation) answer(cmd *cobra.Command, p *progress, kind, name string) (answer, error) {
	explain, known := x.subjects(cmd.Context())[kind]
	if !known {
		return answer{}, coded{exitUsage, fmt.Errorf("unknown resource %q: use pod, node or nodepool", kind)}
	}
	run, err := x.decide(cmd, p)
	if err != nil {
		return answer{}, err
	}
	value, text, found := explain(run, name)
	p.pause()
	tellFaults(cmd, run)
	warn(cmd.ErrOrStderr(), x.unread)
	if !found {
		return answer{}, x.notFound(kind, name)
	}
	return answer{value, text}.of(x.controller), nil
}

// notFound is the error if no object has the name.
func (x *explanation) notFound(resource, name string) error {
	if strings.HasPrefix(resource, "pod") {
		return fmt.Errorf("pod %q not found (use -n for another namespace)", x.namespace+"/"+name)
	}
	return fmt.Errorf("%s %q not found", resource, name)
}

// decide makes a plan for the manifests, or for the cluster if there are none.
func (x *explanation) decide(cmd *cobra.Command, p *progress) (*offline.Run, error) {
	if len(x.files) == 0 {
		run, there, err := x.decideLive(cmd, p, &x.solver)
		x.there = there
		return run, err
	}
	c, err := x.read(cmd, p, &x.solver)
	if err != nil {
		return nil, err
	}
	p.say("planning for " + units.Counted(len(c.Delta.Pods), "pod"))
	return c.Decide(x.options(), 1, time.Now), nil
}

// A subject explains the object with a name, as a value for JSON and as text. found is false if there is no such
// object.
type subject func(run *offline.Run, name string) (value any, text func(report.Style) string, found bool)

// subjects returns the subjects by kind of object.
func (x *explanation) subjects(ctx context.Context) map[string]subject {
	explainer := func(run *offline.Run) *explain.Explainer { return explain.New(run.Snapshot, run.Options.Labels) }
	pod := func(run *offline.Run, name string) (any, func(report.Style) string, bool) {
		a, ok := run.Pod(explainer(run), x.namespace+"/"+name)
		if ok && x.there != nil {
			a.Told = x.told(ctx, a.Of.Object)
		}
		a.Controller = x.controller.shown()
		return a, func(s report.Style) string { return s.Pod(a) }, ok
	}
	node := func(run *offline.Run, name string) (any, func(report.Style) string, bool) {
		a, ok := run.Node(run.Disrupt(x.controller.disruption(len(x.files) > 0), time.Now), name)
		a.Controller = x.controller.shown()
		return a, func(s report.Style) string { return s.Node(a) }, ok
	}
	pool := func(run *offline.Run, name string) (any, func(report.Style) string, bool) {
		a, ok := run.Pool(explainer(run), name)
		a.Controller = x.controller.shown()
		return a, func(s report.Style) string { return s.Pool(a) }, ok
	}
	return map[string]subject{"pod": pod, "pods": pod, "node": node, "nodes": node, "nodepool": pool, "nodepools": pool}
}

// told returns the controller's events about a pod. If the events cannot be listed, told returns none and adds a
// warning.
func (x *explanation) told(ctx context.Context, pod *corev1.Pod) []offline.EventResult {
	events, err := live.Events(ctx, x.there, pod)
	if err != nil {
		x.unread = append(x.unread, fmt.Sprintf("the events of the pod are omitted: %v", err))
	}
	return offline.Told(events)
}
