package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
)

func seeds(args []string) error {
	f := flag.NewFlagSet("bench seeds", flag.ContinueOnError)
	n := f.Uint64("n", 100, "seeds, from 1")
	count := f.Int("count", 500, "pods")
	types := f.String("types", "cmr6", "instance types")
	upstream := rival{}
	f.StringVar(&upstream.peer, "peer", "", "the program built from bench/peer; empty to leave upstream out")
	f.StringVar(&upstream.kept, "keep", "", "folder for upstream's plans, which are read from there the next time")
	only := f.String("profiles", "micro,skewed,large,diverse,prefs,services", "shapes of the pods")
	if err := f.Parse(args); err != nil {
		return err
	}
	fmt.Printf("%s\n%d pods, types %s, seeds 1 to %d.\n\n", machine(), *count, *types, *n)
	fmt.Println("| Profile | seeds | dearer or fewer placed | over floor: median, worst | upstream | ours / upstream: median, worst | nodes | upstream |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|")
	var exceptions []string
	for _, name := range strings.Split(*only, ",") {
		p, err := workload.ParseProfile(name)
		if err != nil {
			return err
		}
		var duels []duel
		for seed := uint64(1); seed <= *n; seed += chunk {
			some, err := fight(p, seed, min(seed+chunk-1, *n), *count, *types, upstream)
			if err != nil {
				return err
			}
			duels = append(duels, some...)
		}
		row, bad := summary(p, duels)
		fmt.Println(row)
		exceptions = append(exceptions, bad...)
	}
	fmt.Printf("\n%d exceptions\n", len(exceptions))
	for _, e := range exceptions {
		fmt.Println("-", e)
	}
	return nil
}

// chunk is the number of seeds that upstream plans in one process. Several seeds may share a process, because only
// prices are compared here, not times.
const chunk = 10

// fight makes plans for the seeds with both solvers.
func fight(p workload.Profile, from, to uint64, count int, types string, upstream rival) ([]duel, error) {
	var clusters []*workload.Cluster
	for seed := from; seed <= to; seed++ {
		c, err := workload.New(p, count, seed, types)
		if err != nil {
			return nil, err
		}
		clusters = append(clusters, c)
	}
	plans := make([]*result.Run, len(clusters))
	if upstream.peer != "" {
		var err error
		if plans, err = upstream.plan(clusters); err != nil {
			return nil, err
		}
	}
	duels := make([]duel, len(clusters))
	for i, c := range clusters {
		d, err := newDuel(c, plans[i])
		if err != nil {
			return nil, err
		}
		d.profile, d.seed = p, from+uint64(i)
		duels[i] = d
	}
	return duels, nil
}

// summary returns a row of the table for the duels of a profile, and the verdicts that are not empty. Prices are compared
// only for duels in which both solvers place every pod.
func summary(p workload.Profile, duels []duel) (row string, exceptions []string) {
	var own, their, ratio []float64
	nodes, theirNodes := 0, 0
	for i := range duels {
		d := &duels[i]
		if v := d.verdict(); v != "" {
			exceptions = append(exceptions, fmt.Sprintf("%s seed %d: %s", p, d.seed, v))
		}
		nodes, theirNodes = nodes+d.ours.Nodes, theirNodes+d.theirs.Nodes
		if d.ours.Unplaced+d.theirs.Unplaced == 0 {
			own = append(own, d.ours.Price/d.least)
			if !d.alone {
				their, ratio = append(their, d.theirs.Price/d.least), append(ratio, d.ours.Price/d.theirs.Price)
			}
		}
	}
	return fmt.Sprintf("| %s | %d | %d | %s | %s | %s | %d | %d |", p, len(duels), len(exceptions), spread(own), spread(their), spread(ratio),
		nodes, theirNodes), exceptions
}

// spread returns the median and the maximum of ratios as text.
func spread(values []float64) string {
	if len(values) == 0 {
		return none
	}
	worst := values[0]
	for _, v := range values {
		worst = max(worst, v)
	}
	return fmt.Sprintf("%.4f, %.4f", median(values), worst)
}
