package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/karpenter-go/karpenter/bench/literature"
)

func instanceClasses(args []string) error {
	f := flag.NewFlagSet("bench literature", flag.ContinueOnError)
	items := f.Int("items", 200, "items of each instance")
	instances := f.Int("n", 10, "instances of each class")
	if err := f.Parse(args); err != nil {
		return err
	}
	fmt.Println("| Class | bins: bound | ours | first fit decreasing | dot product | over the bound: ours | first fit decreasing | dot product | ms an instance |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for i := range literature.Classes {
		r, err := literature.Measure(&literature.Classes[i], *items, *instances)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %.2f%% | %.2f%% | %.2f%% | %.1f |\n", r.Class, r.Bound, r.Ours, r.FirstFit, r.Dot,
			100*r.Gap(r.Ours), 100*r.Gap(r.FirstFit), 100*r.Gap(r.Dot),
			float64(r.Time)/float64(time.Millisecond)/float64(r.Instances))
	}
	return nil
}
