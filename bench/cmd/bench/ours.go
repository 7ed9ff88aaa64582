package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/floor"
	engine "github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/pack"
)

func ours(args []string) error {
	f := flag.NewFlagSet("bench ours", flag.ContinueOnError)
	var s source
	s.flags(f)
	var prof profiles
	prof.flags(f)
	repeat := f.Int("repeat", 1, "solves in this process; the last one is reported")
	out := f.String("o", "", "also write the run to this file, JSON")
	o := pack.Options{Labels: engine.Labels}
	ignore := f.Bool("ignore-preferences", false, "ignore preferred affinities and spread that may be violated")
	f.BoolVar(&o.Fast, "fast", false, "do not look for a cheaper plan")
	quiet := f.Bool("quiet", false, "print nothing")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *ignore {
		o.PreferencePolicy = pack.PreferenceIgnore
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	if err := prof.start(); err != nil {
		return err
	}
	var run *result.Run
	for range max(*repeat, 1) {
		if run, err = engine.Solve(c, o); err != nil {
			return err
		}
	}
	if err := prof.stop(); err != nil {
		return err
	}
	if *out != "" {
		if err := run.Write(*out); err != nil {
			return err
		}
	}
	if *quiet {
		return nil
	}
	return report(c, run)
}

// report judges a run and prints it.
func report(c *workload.Cluster, run *result.Run) error {
	least, err := floor.Price(c, apiv1.CapacityTypeOnDemand)
	if err != nil {
		return err
	}
	judge, err := result.NewJudge(c)
	if err != nil {
		return err
	}
	score, err := judge.Score(run)
	show(run, score, least)
	return err
}

// show prints a run. least is the lower bound of package floor, which does not use the engine.
func show(run *result.Run, score result.Score, least float64) {
	fmt.Printf("pods       %d placed, %d unplaced\n", score.Placed, score.Unplaced)
	fmt.Printf("price      $%.4f/h on %d nodes, %.4f of the engine's floor $%.4f", score.Price, score.Nodes, score.Price/run.Floor, run.Floor)
	if score.Unplaced == 0 {
		fmt.Printf(", %.4f of the plain floor $%.4f", score.Price/least, least)
	}
	fmt.Println()
	fmt.Printf("time       %.4f s (CPU %.4f s), %.0f pods/s; verify %.4f s\n", run.Seconds, run.CPU,
		float64(run.Pods)/run.Seconds, run.VerifySeconds)
	fmt.Printf("allocated  %.1f MB\n", float64(run.Allocated)/1e6)
	names := slices.SortedFunc(maps.Keys(score.Mix), func(a, b string) int { return score.Mix[b] - score.Mix[a] })
	for _, name := range names[:min(len(names), 10)] {
		fmt.Printf("  %5d x %s\n", score.Mix[name], name)
	}
	list("violation", run.Violations)
	list("unplaced", run.Reasons)
}

// list prints up to ten lines.
func list(title string, lines []string) {
	for _, line := range lines[:min(len(lines), 10)] {
		fmt.Fprintf(os.Stdout, "%s: %s\n", title, line)
	}
	if len(lines) > 10 {
		fmt.Printf("%s: and %d more\n", title, len(lines)-10)
	}
}
