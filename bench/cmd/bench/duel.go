package main

import (
	"fmt"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/floor"
	engine "github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A duel compares the plan of this project with that of upstream for one seed.
type duel struct {
	profile      workload.Profile
	seed         uint64
	least        float64
	ours, theirs result.Score
	// alone is true if there is no plan of upstream.
	alone bool
	// fault describes what is wrong with one of the plans. It is empty if both are right.
	fault string
}

// verdict returns the result of the duel as text. It is empty if the plan of this project is at least as good as upstream's.
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
		return "" // upstream places fewer pods, so the prices cannot be compared
	case d.ours.Price > d.theirs.Price*(1+1e-9):
		return fmt.Sprintf("dearer: $%.4f, upstream $%.4f (%.2f%%), floor $%.4f; nodes %d, upstream %d", d.ours.Price, d.theirs.Price,
			100*(d.ours.Price/d.theirs.Price-1), d.least, d.ours.Nodes, d.theirs.Nodes)
	}
	return ""
}

// newDuel plans c with this project's engine and scores that plan and upstream's, if there is one.
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
