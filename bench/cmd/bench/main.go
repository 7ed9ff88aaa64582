// Command bench measures the engine on generated clusters and on files, alone and in comparison with upstream's
// scheduler.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

// A command is one subcommand.
type command struct {
	name, does, example string
	run                 func(args []string) error
}

var commands = []command{
	{"ours", "plan a workload with our engine and say what came of it",
		"bench ours -profile diverse -count 5000 -types synthetic400 -seed 7 -cpuprofile cpu.out", ours},
	{"floor", "how near the price of our plan comes to what no plan goes below, as pods fit together too",
		"bench floor -profile large -count 1000 -types cmr6", floors},
	{"input", "write a workload as files that karpenter simulate and every other solver read",
		"bench input -profile micro -count 1000 -types cmr6 -out dir", input},
	{"fleet", "plan batches of pods over a fleet that is there, by what changes",
		"bench fleet -nodes 5000 -keep 1 -batches 5 -batch 500", fleet},
	{"objects", "memory, plans and quiet CPU with 10,000 nodes of 50 kB and 300,000 pods of 8 kB",
		"bench objects -nodes 2000", largeObjects},
	{"peers", "our engine and upstream's scheduler side by side, each in fresh processes, as a table",
		"bench peers -peer ../bin/bench-peer -only micro", peers},
	{"seeds", "prices of both over many seeds, with every seed at which ours is the dearer",
		"bench seeds -peer ../bin/bench-peer -n 100 -profiles micro,diverse", seeds},
	{"literature", "the bin packing solver on instance classes of the literature, beside simple heuristics, as a table",
		"bench literature -items 200 -n 10", instanceClasses},
	{"commitments", "plans and consolidation with reserved instances and Savings Plans, beside a linear program that knows them",
		"bench commitments -count 5000 -types cmr6 -n 3", committed},
	{"backtest", "a day with our decisions and with upstream's: dollars, evictions, waiting times",
		"bench backtest -pods 300 -peer ../bin/bench-peer", replayDay},
	{"overhead", "the share of decision log, ledger, events and metrics in the CPU time of a busy controller",
		"bench overhead -pods 2000 -max-cpu 4", measureOverhead},
	{"e2e", "scale-up and scale-in on a real API server, with nodes without machines",
		"bench e2e -pods 1000,4000 -into docs/bench.md", endToEnd},
}

func main() {
	err := dispatch(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func dispatch(args []string) error {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return c.run(args[1:])
			}
		}
	}
	var help strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&help, "  %-6s %s\n         %s\n", c.name, c.does, c.example)
	}
	return fmt.Errorf("name one of these, and -h for its flags:\n%s", help.String())
}
