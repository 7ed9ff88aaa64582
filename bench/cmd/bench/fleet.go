package main

import (
	"flag"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	engine "github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/pack"
)

func fleet(args []string) error {
	f := flag.NewFlagSet("bench fleet", flag.ContinueOnError)
	var fl workload.Fleet
	fleetFlags(f, &fl)
	f.IntVar(&fl.Nodes, "nodes", 5000, "nodes of the fleet")
	f.Uint64Var(&fl.Seed, "seed", 7, "seed of chance")
	profile := f.String("profile", string(workload.Micro), "shape of the pending pods")
	catalogue := f.String("types", "noburst", "instance types")
	batches := f.Int("batches", 5, "rounds")
	size := f.Int("batch", 500, "pending pods of each round")
	var prof profiles
	prof.flags(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	fl.Nodes, *size = min(fl.Nodes, workload.Most()), min(*size, workload.Most())
	p, err := workload.ParseProfile(*profile)
	if err != nil {
		return err
	}
	types, err := workload.Catalogue(*catalogue)
	if err != nil {
		return err
	}
	c, err := fl.Cluster(types)
	if err != nil {
		return err
	}
	c.Daemons = workload.Daemons()
	fmt.Printf("%s\n%d nodes, %d bound pods\n\n", machine(), len(c.Nodes), len(c.Pods))
	if err := prof.start(); err != nil {
		return err
	}
	rounds, err := engine.Rounds(c, batchesOf(p, *batches, *size, fl.Seed), pack.Options{Labels: engine.Labels})
	if err != nil {
		return err
	}
	if err := prof.stop(); err != nil {
		return err
	}
	fmt.Println("| Round | Pending | Onto nodes there are | New nodes | Unplaced | Snapshot | Snapshot and plan | its CPU time | Allocated |")
	fmt.Println("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for i, r := range rounds {
		fmt.Printf("| %d | %d | %d | %d | %d | %.1f ms | %.1f ms | %.1f ms | %.1f MB |\n", i+1, r.Pods, r.Existing, r.Nodes, r.Unplaced,
			r.Apply*1000, r.Seconds*1000, r.CPU*1000, float64(r.Allocated)/1e6)
		list("violation", r.Violations)
	}
	return nil
}

// batchesOf returns batches of pending pods, with different names.
func batchesOf(p workload.Profile, batches, size int, seed uint64) [][]*corev1.Pod {
	out := make([][]*corev1.Pod, batches)
	for i := range out {
		out[i] = workload.Pods(p, size, seed+uint64(i))
		for _, pod := range out[i] {
			pod.Name = fmt.Sprintf("b%d-%s", i, pod.Name)
			pod.UID = types.UID("uid-" + pod.Name)
		}
	}
	return out
}
