package main

import (
	"flag"
	"fmt"

	"github.com/karpenter-go/karpenter/bench/commitments"
	"github.com/karpenter-go/karpenter/bench/workload"
)

// committed prints prices beyond commitments, relative to a linear program that knows them.
func committed(args []string) error {
	f := flag.NewFlagSet("bench commitments", flag.ContinueOnError)
	count := f.Int("count", 5000, "pods")
	types := f.String("types", "cmr6", "instance types")
	seeds := f.Uint64("n", 3, "seeds of each row")
	if err := f.Parse(args); err != nil {
		return err
	}
	fmt.Println("| Pods | commitments, share of the list price | without them $/h | bill of that plan | lower bound $/h | plan, above the bound | consolidated, above the bound | both with the price of the commitments |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|")
	for _, p := range []workload.Profile{workload.Micro, workload.Skewed} {
		for _, share := range []float64{0, 0.25, 0.5, 0.75} {
			var sum commitments.Result
			for seed := range *seeds {
				r, err := commitments.Run(p, min(*count, workload.Most()), seed+1, *types, share)
				if err != nil {
					return fmt.Errorf("%s %d, seed %d, share %v: %w", p, *count, seed+1, share, err)
				}
				sum.Add(r)
			}
			above := func(price float64) float64 { return 100 * (price/sum.Floor - 1) }
			fmt.Printf("| %s %d | %.0f%% | %.2f | %.2f | %.2f | %.2f%% | %.2f%% | %.2f%%, %.2f%% |\n", p, *count, 100*share, sum.List, sum.Blind,
				sum.Floor, above(sum.Planned), above(sum.Consolidated), 100*(sum.Planned-sum.Floor)/(sum.Paid+sum.Floor),
				100*(sum.Consolidated-sum.Floor)/(sum.Paid+sum.Floor))
		}
	}
	return nil
}
