package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// simulation are the flags of simulate.
type simulation struct {
	input
	solver
	output output
	repeat int
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
			"  karpenter simulate -f pods.json --catalog types.json -o json | jq .costPerHour",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			return s.run(cmd)
		},
	}
	s.input.addFlags(c)
	s.solver.addFlags(c)
	s.output.addFlag(c)
	c.Flags().IntVar(&s.repeat, "repeat", 1, "decide so many times, keeping nothing in between, and tell the median time")
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
	p := newProgress(cmd.ErrOrStderr())
	defer p.end()
	c, err := s.read(cmd, p)
	if err != nil {
		return err
	}
	p.say("planning for " + report.Count(len(c.Delta.Pods), "pod"))
	run, err := c.Decide(s.options(), s.repeat, time.Now)
	if err != nil {
		return err
	}
	p.pause()
	for _, f := range run.Faults {
		warn(cmd.ErrOrStderr(), []string{"a mistake of this program: the check refused a part of its plan: " + f})
	}
	e := explain.New(run.Snapshot, run.Options.Labels)
	if s.output == asJSON {
		return printJSON(cmd.OutOrStdout(), s.result(run, e))
	}
	_, err = io.WriteString(cmd.OutOrStdout(), styleOf(cmd.OutOrStdout()).Plan(run.Plan, e))
	return err
}

// result returns the run as JSON has it.
func (s *simulation) result(run *offline.Run, e *explain.Explainer) offline.Result {
	out := run.Result(func(r model.Refusal) []string {
		var reasons []string
		for _, f := range e.Refusal(r) {
			reasons = append(reasons, f.String())
		}
		return reasons
	})
	out.PeakRSSBytes = peakRSS()
	return out
}

// printJSON writes v for people and programs.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
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

// solver are the flags that change how plans are made.
type solver struct {
	minValues string
}

func (s *solver) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&s.minValues, "min-values-policy", "Strict", "what becomes of minValues that cannot be met: Strict or BestEffort")
}

func (s *solver) check() error {
	if s.minValues != "Strict" && s.minValues != "BestEffort" {
		return coded{exitUsage, fmt.Errorf("--min-values-policy is %q, want Strict or BestEffort", s.minValues)}
	}
	return nil
}

func (s *solver) options() pack.Options {
	return pack.Options{RelaxMinValues: s.minValues == "BestEffort"}
}
