package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/karpenter-go/karpenter/bench/e2e"
	"github.com/karpenter-go/karpenter/bench/overhead"
	"github.com/karpenter-go/karpenter/bench/workload"
)

// overheadTarget is the largest share of the controller's CPU time that decision log, ledger, and the events and metrics that
// upstream does not have may use.
const overheadTarget = 0.03

// measureOverhead profiles the controller in a scale-up and a scale-in, and prints the shares of decision log, ledger,
// events and metrics.
func measureOverhead(args []string) error {
	f := flag.NewFlagSet("bench overhead", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), "Profile the controller while it scales up and in, and print which share of its CPU time is the decision log, the\n"+
			"ledger, events and metrics. Events and metrics are divided into those that upstream has and the others. Metrics are\n"+
			"read every 15 s, as by Prometheus. Flags:\n")
		f.PrintDefaults()
	}
	o := e2e.Options{Log: os.Stderr, Profile: workload.Micro, ConsolidateAfter: 30 * time.Second}
	f.StringVar(&o.Bin, "bin", "bin", "where karpenter and karpenter-local are")
	f.IntVar(&o.Pods, "pods", 2000, "how many pods come; a quarter of them stays")
	f.IntVar(&o.MaxCPU, "max-cpu", 4, "the most cores of a node; small nodes make the controller busier")
	f.Uint64Var(&o.Seed, "seed", 7, "seed of chance")
	f.DurationVar(&o.UpLimit, "up-limit", 5*time.Minute, "most time for the scale-up")
	f.DurationVar(&o.DownLimit, "down-limit", 8*time.Minute, "most time for the scale-in")
	from := f.String("profiles", "", "read the profiles in this directory instead of measuring")
	keep := f.String("keep", "", "new directory to keep the profiles in")
	names := f.String("names", "docs/upstream-names.md", "the names of metrics and events that upstream has")
	output := f.String("o", "table", "output: table or json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *output != "table" && *output != "json" {
		return fmt.Errorf("-o: unknown output %q, use table or json", *output)
	}
	upstream, err := overhead.ReadNames(*names)
	if err != nil {
		return err
	}
	dir := *from
	if dir == "" {
		if o.Bin, err = filepath.Abs(o.Bin); err != nil {
			return err
		}
		temporary, err := os.MkdirTemp("", "karpenter-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = filepath.Join(temporary, "profiles")
		if *keep != "" {
			dir = *keep
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		o.Name, o.Controller, o.Profiles = "this one", filepath.Join(o.Bin, "karpenter"), dir
		if _, err := inDirectory(ctx, o, o.UpLimit+o.DownLimit, e2e.Run); err != nil {
			return err
		}
	}
	r, err := overhead.Of(dir, upstream)
	if err != nil {
		return err
	}
	if *output == "json" {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	printOverhead(r)
	return nil
}

func printOverhead(r *overhead.Result) {
	fmt.Printf("%s\n%.1f s of CPU profiled, %.1f%% of it garbage collection, which is divided by allocated bytes.\n\n", machine(), r.CPUSeconds, 100*r.Collection)
	fmt.Println("| Part | CPU without garbage collection | Allocated bytes | All CPU |")
	fmt.Println("|---|--:|--:|--:|")
	for _, s := range append(r.Shares, r.Sum) {
		if !s.Counted {
			s.Name += ", not in the sum"
		}
		fmt.Printf("| %s | %.2f%% | %.2f%% | %.2f%% |\n", s.Name, 100*s.CPU, 100*s.Allocated, 100*s.All)
	}
	verdict := "within"
	if r.Sum.All > overheadTarget {
		verdict = "above"
	}
	fmt.Printf("\nThe sum is %s the target of %.0f%%.\n", verdict, 100*overheadTarget)
}
