package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/karpenter-go/karpenter/bench/objects"
	"github.com/karpenter-go/karpenter/bench/workload"
)

// largeObjects measures the controller's view of a cluster with objects of the size that they have in production.
func largeObjects(args []string) error {
	f := flag.NewFlagSet("bench objects", flag.ContinueOnError)
	var o objects.Options
	f.IntVar(&o.Nodes, "nodes", 10_000, "nodes, each of about 50 kB")
	f.IntVar(&o.PodsPerNode, "pods", 30, "pods on each node, each of about 8 kB")
	f.IntVar(&o.Pending, "pending", 1000, "pending pods of each round")
	f.IntVar(&o.Rounds, "rounds", 4, "rounds")
	f.BoolVar(&o.Whole, "whole", false, "store whole objects, as without the cache's shortening")
	f.BoolVar(&o.NoDecision, "no-decision", false, "leave out the decision of disruption, which takes minutes with many nodes")
	var prof profiles
	prof.flags(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := prof.start(); err != nil {
		return err
	}
	o.Nodes, o.Pending = min(o.Nodes, workload.Most()), min(o.Pending, workload.Most())
	r, err := objects.Run(o, func(what string) { fmt.Fprintln(os.Stderr, what) })
	if err != nil {
		return err
	}
	if err := prof.stop(); err != nil {
		return err
	}
	fmt.Printf("%s\n\n| %d nodes of %.1f kB, %d pods of %.1f kB | |\n|---|--:|\n", machine(), r.Nodes, float64(r.NodeSize)/1e3, r.Pods, float64(r.PodSize)/1e3)
	fmt.Printf("| memory of the stored objects | %.2f GB |\n| with the first snapshot | %.2f GB |\n", float64(r.Objects)/1e9, float64(r.Snapshot)/1e9)
	for i, m := range r.Rounds {
		fmt.Printf("| snapshot, plan and check for %d pending pods, round %d | %.0f ms, %.0f ms of CPU |\n", o.Pending, i+1, 1000*m.Seconds, 1000*m.CPU)
	}
	fmt.Printf("| pods placed in all rounds | %d of %d |\n", r.Placed, o.Pending*o.Rounds)
	fmt.Printf("| status update of a node | %.2f ms of CPU |\n", 1000*r.Heartbeat)
	if o.NoDecision {
		return nil
	}
	fmt.Printf("| decision of disruption, %d commands | %.2f s of CPU |\n", r.Commands, r.Decision)
	fmt.Printf("| the next decision, nothing has changed | %.2f s of CPU |\n", r.Repeated)
	fmt.Printf("| quiet: each node's status every 5 minutes, a decision every minute, every 15 minutes a whole one | %.1f%% of a core |\n", 100*r.Quiet())
	return nil
}
