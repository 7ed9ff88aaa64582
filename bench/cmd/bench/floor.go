package main

import (
	"flag"
	"fmt"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/floor"
	engine "github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// floors prints the plan's price relative to both lower bounds.
func floors(args []string) error {
	f := flag.NewFlagSet("bench floor", flag.ContinueOnError)
	var s source
	s.flags(f)
	rounds := f.Int("rounds", 1000, "at most so many rounds of search for the configuration bound; with fewer it is lower")
	o := pack.Options{Labels: engine.Labels}
	f.BoolVar(&o.Fast, "fast", false, "do not look for a cheaper plan")
	if err := f.Parse(args); err != nil {
		return err
	}
	s.count = min(s.count, workload.Most())
	c, err := s.cluster()
	if err != nil {
		return err
	}
	run, err := engine.Solve(c, o)
	if err != nil {
		return err
	}
	judge, err := result.NewJudge(c)
	if err != nil {
		return err
	}
	score, err := judge.Score(run)
	if err != nil {
		return err
	}
	if score.Unplaced > 0 {
		return fmt.Errorf("%d pods have no place, so no price can be compared", score.Unplaced)
	}
	plain, err := floor.Price(c, apiv1.CapacityTypeOnDemand)
	if err != nil {
		return err
	}
	bound, above, err := floor.Configuration(c, *rounds, apiv1.CapacityTypeOnDemand)
	if err != nil {
		return err
	}
	fmt.Printf("price                $%.4f/h on %d nodes\n", score.Price, score.Nodes)
	fmt.Printf("plain floor          $%.4f/h, the price is %.4f of it\n", plain, score.Price/plain)
	fmt.Printf("configuration bound  $%.4f/h, the price is %.4f of it; more rounds would not bring it above $%.4f/h\n", bound,
		score.Price/bound, above)
	return nil
}
