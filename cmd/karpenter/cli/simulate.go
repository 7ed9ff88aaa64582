package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/report"
)

// simulation has the flags of simulate.
type simulation struct {
	input
	solver
	output output
	repeat int
	// consolidate is true if disruption decisions are computed as well.
	consolidate bool
	// gates are the feature gates as text. gatesRead are the parsed ones, which check sets.
	gates     string
	gatesRead settings.FeatureGates
	// failing is true if unschedulable pods cause the exit code exitUnschedulable.
	failing bool
}

func simulateCommand() *cobra.Command {
	var s simulation
	c := &cobra.Command{
		Use:   "simulate -f FILE|DIR [-f ...]",
		Short: "Show which nodes would be launched for manifests, without a cluster",
		Long: "Show which nodes would be launched for the pods in manifests, what the nodes cost, and which pods are unschedulable\n" +
			"and why. With --consolidate also show which of the nodes would be disrupted.\n\n" +
			"The decisions are those of the controller. No cluster and no cloud account is needed. Pods without nodeName are\n" +
			"pending; nodes with their pods are existing capacity. Without a NodePool, one named default is used: on-demand,\n" +
			"no limits. Static NodePools get their nodes first. Instance types and prices are those of the built-in catalog.\n\n" +
			"Exit code 0 also if pods are unschedulable; with --fail-on-unschedulable it is 4 then.",
		Example: "  karpenter simulate -f deployment.yaml\n" +
			"  karpenter simulate -f manifests/ -f nodepool.yaml --region eu-west-1\n" +
			"  kubectl get nodepools,nodes,pods,daemonsets -A -o json | karpenter simulate -f -\n" +
			"  kubectl get nodepools,nodes,pods,pdb -A -o json | karpenter simulate --consolidate -f -\n" +
			"  karpenter simulate -f manifests/ --price-book book.yaml\n" +
			"  karpenter simulate -f cluster.json --consolidate --feature-gates SpotToSpotConsolidation=true\n" +
			"  karpenter simulate -f manifests/ --fail-on-unschedulable    # in CI\n" +
			"  karpenter simulate -f pods.json --catalog types.json -o json | jq .costPerHour",
		Args: noArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			return s.run(cmd)
		}),
	}
	s.input.addFlags(c)
	s.solver.addFlags(c)
	s.output.addFlagWithYAML(c)
	c.Flags().IntVar(&s.repeat, "repeat", 1, "Number of runs; the reported times are their median")
	c.Flags().BoolVar(&s.consolidate, "consolidate", false, "Also show which of the given nodes would be disrupted, and the savings")
	c.Flags().BoolVar(&s.failing, "fail-on-unschedulable", false,
		"Exit with code 4 if pods are unschedulable; pods with scheduling gates do not count")
	c.Flags().StringVar(&s.gates, "feature-gates", "",
		"Feature gates as Name=true,Name=false. SpotToSpotConsolidation=true allows --consolidate to replace spot nodes by cheaper"+
			" spot nodes; other gates have no effect here")
	return c
}

func (s *simulation) check() error {
	if s.repeat < 1 {
		return coded{exitUsage, fmt.Errorf("--repeat: %d is out of range, use 1 or more", s.repeat)}
	}
	for _, check := range []func() error{s.output.checkWithYAML, s.input.check, s.solver.check, s.checkGates} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkGates parses the feature gates. The parser only warns about an unknown gate that is off. Here that is an error,
// because no other version of the program gets the same flag.
func (s *simulation) checkGates() error {
	gates, warnings, err := settings.ParseFeatureGates(s.gates)
	if err == nil && len(warnings) > 0 {
		err = errors.New(warnings[0])
	}
	if err != nil {
		return coded{exitUsage, fmt.Errorf("--feature-gates: %w", err)}
	}
	s.gatesRead = gates
	return nil
}

func (s *simulation) run(cmd *cobra.Command) error {
	// The process ends soon, so it uses more memory to save garbage collections.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	c, err := s.read(cmd, p, &s.solver)
	if err != nil {
		return err
	}
	p.say("planning for " + units.Counted(len(c.Delta.Pods), "pod"))
	run := c.Decide(s.options(), s.repeat, time.Now)
	p.pause()
	tellFaults(cmd, run)
	var d *offline.Disruption
	if s.consolidate {
		p.say("checking disruption of " + units.Counted(len(c.Delta.Nodes), "node"))
		d = run.Disrupt(s.disruption(), time.Now)
		p.pause()
	}
	if err := s.print(cmd, c, run, d); err != nil {
		return err
	}
	if n := unschedulable(run.Plan); s.failing && n > 0 {
		return coded{exitUnschedulable, fmt.Errorf("%s unschedulable", units.Counted(n, "pod"))}
	}
	return nil
}

// disruption returns the options of disruption: those of the controller, and the feature gate of the flag.
func (s *simulation) disruption() disrupt.Options {
	o := s.controller.disruption(true)
	if s.isGiven("feature-gates") {
		o.SpotToSpot = s.gatesRead.SpotToSpotConsolidation
	}
	return o
}

// print writes the result; d may be nil.
func (s *simulation) print(cmd *cobra.Command, c *offline.Case, run *offline.Run, d *offline.Disruption) error {
	e := explain.New(run.Snapshot, run.Options.Labels)
	if s.output.encoded() {
		result := resultOf(run, c.Static, d, e)
		result.Controller = s.controller.shown()
		return s.output.encode(cmd.OutOrStdout(), result)
	}
	style := styleOf(cmd.OutOrStdout())
	var parts []string
	if len(c.Static) > 0 {
		parts = append(parts, style.Static(c.Static))
	}
	if len(c.Static) == 0 || run.Pending() > 0 {
		parts = append(parts, style.Plan(run.Plan, e))
	}
	if d != nil {
		parts = append(parts, style.Disruption(d))
	}
	a := answer{text: func(report.Style) string { return strings.Join(parts, "\n") }}.of(s.controller)
	_, err := io.WriteString(cmd.OutOrStdout(), a.text(style))
	return err
}

// unschedulable returns the number of pods without a node, except pods with scheduling gates.
func unschedulable(p *model.Plan) int {
	n := 0
	for _, r := range p.Refusals {
		if r.Reasons[0].Verdict.Cause != model.CauseGate {
			n += len(r.Pods)
		}
	}
	return n
}

// resultOf returns the JSON output of the run. static are nodes of static NodePools to launch; d may be nil.
func resultOf(run *offline.Run, static []offline.NodeResult, d *offline.Disruption, e *explain.Explainer) offline.Result {
	out := run.Result(func(r model.Refusal) []string {
		var reasons []string
		for _, f := range e.Refusal(r) {
			reasons = append(reasons, f.String())
		}
		return reasons
	})
	out.AddStatic(static)
	if d != nil {
		d.Result(&out)
	}
	out.PeakRSSBytes = peakRSS()
	return out
}

// printJSON writes v in one line.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// peakRSS returns the peak resident memory of the process, in bytes.
func peakRSS() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // the peak is not known
	}
	if runtime.GOOS == "darwin" {
		return u.Maxrss
	}
	return u.Maxrss << 10
}
