package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/floor"
	engine "github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A duel is our plan and upstream's for one seed.
type duel struct {
	profile      workload.Profile
	seed         uint64
	least        float64
	ours, theirs result.Score
	// alone says that upstream did not plan.
	alone bool
	// fault is what is wrong with a plan, empty for nothing.
	fault string
}

// verdict says how the duel went, empty if our plan is as good or better.
func (d *duel) verdict() string {
	switch {
	case d.fault != "":
		return d.fault
	case d.alone && d.ours.Unplaced > 0:
		return fmt.Sprintf("leaves %d pods out", d.ours.Unplaced)
	case d.alone:
		return ""
	case d.ours.Unplaced > d.theirs.Unplaced:
		return fmt.Sprintf("leaves %d pods out, upstream %d", d.ours.Unplaced, d.theirs.Unplaced)
	case d.ours.Unplaced < d.theirs.Unplaced:
		return "" // there is no price to compare
	case d.ours.Price > d.theirs.Price*(1+1e-9):
		return fmt.Sprintf("dearer: $%.4f, upstream $%.4f (%.2f%%), floor $%.4f; nodes %d, upstream %d", d.ours.Price, d.theirs.Price,
			100*(d.ours.Price/d.theirs.Price-1), d.least, d.ours.Nodes, d.theirs.Nodes)
	}
	return ""
}

func seeds(args []string) error {
	f := flag.NewFlagSet("bench seeds", flag.ContinueOnError)
	peer := f.String("peer", "", "the program built from bench/peer; empty to leave upstream out")
	n := f.Uint64("n", 100, "seeds, from 1")
	count := f.Int("count", 500, "pods")
	types := f.String("types", "cmr6", "instance types")
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
			some, err := fight(p, seed, min(seed+chunk-1, *n), *count, *types, *peer)
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

// chunk is how many seeds upstream plans in one process; only prices are compared here.
const chunk = 10

// fight plans the seeds with both solvers.
func fight(p workload.Profile, from, to uint64, count int, types, peer string) ([]duel, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, fmt.Errorf("make folder for the input: %w", err)
	}
	defer os.RemoveAll(dir)
	var folders []string
	var clusters []*workload.Cluster
	for seed := from; seed <= to; seed++ {
		c, err := workload.New(p, count, seed, types)
		if err != nil {
			return nil, err
		}
		folder := filepath.Join(dir, fmt.Sprint(seed))
		if err := c.Write(folder); err != nil {
			return nil, err
		}
		folders, clusters = append(folders, folder), append(clusters, c)
	}
	if peer != "" {
		cmd := exec.Command(peer, folders...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("run upstream: %w", err)
		}
	}
	var duels []duel
	for i, c := range clusters {
		var theirs *result.Run
		if peer != "" {
			if theirs, err = result.Read(filepath.Join(folders[i], "upstream.json")); err != nil {
				return nil, err
			}
		}
		d, err := newDuel(c, theirs)
		if err != nil {
			return nil, err
		}
		d.profile, d.seed = p, from+uint64(i)
		duels = append(duels, d)
	}
	return duels, nil
}

// newDuel plans c with our engine and judges that plan and upstream's, if there is one.
func newDuel(c *workload.Cluster, theirs *result.Run) (d duel, err error) {
	ours, err := engine.Solve(c, pack.Options{Labels: engine.Labels})
	if err != nil {
		return d, err
	}
	if d.least, err = floor.Price(c, apiv1.CapacityTypeOnDemand); err != nil {
		return d, err
	}
	judge, err := result.NewJudge(c)
	if err != nil {
		return d, err
	}
	var faults []string
	note := func(run *result.Run, err error) {
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", run.Engine, err))
		}
		if len(run.Violations) > 0 {
			faults = append(faults, fmt.Sprintf("%s: %s", run.Engine, run.Violations[0]))
		}
	}
	d.ours, err = judge.Score(ours)
	note(ours, err)
	if d.alone = theirs == nil; !d.alone {
		d.theirs, err = judge.Score(theirs)
		note(theirs, err)
	}
	d.fault = strings.Join(faults, "; ")
	return d, nil
}

// summary returns a row of the table and the exceptions. Only duels in which both place every pod are compared by price.
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

// spread returns median and worst of some ratios.
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
