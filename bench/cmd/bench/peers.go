package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/bench/workload"
)

// A trial is one row of the comparison.
type trial struct {
	profile workload.Profile
	count   int
	types   string
	// alone is true if upstream is not run because it would take too long.
	alone bool
	// ignore is true if this engine and upstream ignore preferences.
	ignore bool
}

// trials are the rows, in order.
var trials = []trial{
	{profile: workload.Diverse, count: 5000, types: "synthetic400"},
	{profile: workload.Diverse, count: 5000, types: "first400"},
	{profile: workload.Prefs, count: 4000, types: "synthetic400"},
	{profile: workload.Prefs, count: 4000, types: "synthetic400", ignore: true},
	{profile: workload.Micro, count: 1000, types: "cmr6"},
	{profile: workload.Skewed, count: 1000, types: "cmr6"},
	{profile: workload.Large, count: 1000, types: "cmr6"},
	{profile: workload.Micro, count: 1000, types: "noburst"},
	{profile: workload.Skewed, count: 1000, types: "noburst"},
	{profile: workload.Large, count: 1000, types: "noburst"},
	{profile: workload.Services, count: 1000, types: "cmr6"},
	{profile: workload.Micro, count: 10_000, types: "cmr6"},
	{profile: workload.Skewed, count: 10_000, types: "cmr6"},
	{profile: workload.Large, count: 10_000, types: "cmr6", alone: true},
	{profile: workload.Diverse, count: 10_000, types: "synthetic400", alone: true},
	{profile: workload.Diverse, count: 100_000, types: "synthetic400", alone: true},
}

// String returns the trial's name in the table.
func (t trial) String() string {
	name := fmt.Sprintf("%s %d, %s", t.profile, t.count, t.types)
	if t.ignore {
		name += ", preferences ignored"
	}
	return name
}

func peers(args []string) error {
	f := flag.NewFlagSet("bench peers", flag.ContinueOnError)
	peer := f.String("peer", "", "the program built from bench/peer; empty to leave upstream out")
	rounds := f.Int("n", 3, "processes of each solver for each row; the median time counts")
	patience := f.Float64("patience", 60, "seconds: a solver that took longer runs just once")
	only := f.String("only", "", "only the rows whose name contains this")
	seed := f.Uint64("seed", 7, "seed of chance")
	dir := f.String("dir", "", "keep input and plans in this folder")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		temporary, err := os.MkdirTemp("", "bench")
		if err != nil {
			return fmt.Errorf("make folder for the input: %w", err)
		}
		defer os.RemoveAll(temporary)
		*dir = temporary
	}
	fmt.Println(machine())
	fmt.Println()
	fmt.Println(header)
	var faults []string
	for i, t := range trials {
		if !strings.Contains(t.String(), *only) {
			continue
		}
		r := race{trial: t, dir: filepath.Join(*dir, fmt.Sprint(i)), peer: *peer, rounds: *rounds, patience: *patience}
		row, err := r.run(*seed)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		fmt.Println(row)
		faults = append(faults, r.faults...)
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return fmt.Errorf("plans do not hold:\n%s", strings.Join(faults, "\n"))
	}
	return nil
}
