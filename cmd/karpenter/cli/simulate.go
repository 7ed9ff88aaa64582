package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// simulation are the flags of simulate.
type simulation struct {
	input
	solver
	output output
	repeat int
	// consolidate asks for what disruption would do, too; spotToSpot lets it replace spot nodes by cheaper spot nodes.
	consolidate, spotToSpot bool
}

func simulateCommand() *cobra.Command {
	var s simulation
	c := &cobra.Command{
		Use:   "simulate -f FILE|DIR [-f ...]",
		Short: "Tell which nodes manifests would get, without a cluster",
		Long: "Tell which nodes manifests would get, what they cost, and who would get none and why.\n\n" +
			"Reads pods, workloads, NodePools, node classes, nodes and what belongs to them, and decides as the controller\n" +
			"would, without a cluster or a cloud. Pods without a node wait for one; nodes with their pods are capacity. Without\n" +
			"a NodePool there is one called default: on-demand, no limits. Prices are those of the table in the binary.",
		Example: "  karpenter simulate -f deployment.yaml\n" +
			"  karpenter simulate -f manifests/ -f nodepool.yaml --region eu-west-1\n" +
			"  kubectl get nodepools,nodes,pods,daemonsets -A -o json | karpenter simulate -f -\n" +
			"  kubectl get nodepools,nodes,pods,pdb -A -o json | karpenter simulate --consolidate -f -\n" +
			"  karpenter simulate -f manifests/ --price-book book.yaml\n" +
			"  karpenter simulate -f pods.json --catalog types.json -o json | jq .costPerHour",
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			return s.run(cmd)
		}),
	}
	s.input.addFlags(c)
	s.solver.addFlags(c)
	s.output.addFlag(c)
	c.Flags().IntVar(&s.repeat, "repeat", 1, "decide so many times, keeping nothing in between, and tell the median time")
	c.Flags().BoolVar(&s.consolidate, "consolidate", false, "tell what disruption would do to the nodes given, and what that saves")
	c.Flags().BoolVar(&s.spotToSpot, "spot-to-spot", false, "with --consolidate: spot nodes may be replaced by cheaper spot nodes")
	return c
}

func (s *simulation) check() error {
	if s.repeat < 1 {
		return coded{exitUsage, fmt.Errorf("--repeat is %d, want 1 or more", s.repeat)}
	}
	for _, check := range []func() error{s.output.check, s.input.check, s.solver.check} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) run(cmd *cobra.Command) error {
	// The process ends with the answer, so rarer garbage collection is worth its memory.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	c, err := s.read(cmd, p)
	if err != nil {
		return err
	}
	p.say("planning for " + report.Count(len(c.Delta.Pods), "pod"))
	c.Spread.Constraints = s.spread()
	run := c.Decide(s.options(), s.repeat, time.Now)
	p.pause()
	tellFaults(cmd, run)
	var d *offline.Disruption
	if s.consolidate {
		p.say("weighing " + report.Count(len(c.Delta.Nodes), "node"))
		d = run.Disrupt(disrupt.Options{SpotToSpot: s.spotToSpot, Simulate: true}, time.Now)
		p.pause()
	}
	e := explain.New(run.Snapshot, run.Options.Labels)
	if s.output == asJSON {
		return printJSON(cmd.OutOrStdout(), resultOf(run, d, e))
	}
	style := styleOf(cmd.OutOrStdout())
	text := style.Plan(run.Plan, e)
	if d != nil {
		text += "\n" + style.Disruption(d)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// resultOf returns the run as JSON has it; d may be nil.
func resultOf(run *offline.Run, d *offline.Disruption, e *explain.Explainer) offline.Result {
	out := run.Result(func(r model.Refusal) []string {
		var reasons []string
		for _, f := range e.Refusal(r) {
			reasons = append(reasons, f.String())
		}
		return reasons
	})
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

// peakRSS is the most memory, in bytes, that the process had.
func peakRSS() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // not known
	}
	if runtime.GOOS == "darwin" {
		return u.Maxrss
	}
	return u.Maxrss << 10
}
