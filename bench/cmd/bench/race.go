package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/floor"
	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
)

// A race runs both solvers on one input, alternately, each time in a new process.
type race struct {
	trial
	dir, peer string
	rounds    int
	patience  float64
	// faults are the faults that the judge and verify found.
	faults []string
}

// A finish is the result of one solver's processes.
type finish struct {
	ran bool
	// seconds and cpu are the medians.
	seconds, cpu float64
	run          *result.Run
	score        result.Score
}

const header = "| Pods, types | pods/s | upstream | times | times, CPU | $/h | upstream | floor | over floor | upstream |" +
	" nodes | upstream | unplaced | upstream | allocated | upstream |\n" +
	"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"

func (r *race) run(seed uint64) (row string, err error) {
	c, err := workload.New(r.profile, r.count, seed, r.types)
	if err != nil {
		return "", err
	}
	if err := c.Write(r.dir); err != nil {
		return "", err
	}
	least, err := floor.Price(c, apiv1.CapacityTypeOnDemand)
	if err != nil {
		return "", err
	}
	judge, err := result.NewJudge(c)
	if err != nil {
		return "", err
	}
	ours, theirs, err := r.processes()
	if err != nil {
		return "", err
	}
	for _, f := range []*finish{&ours, &theirs} {
		if f.ran {
			r.judge(judge, f)
		}
	}
	return r.row(ours, theirs, least), nil
}

// processes runs both solvers alternately.
func (r *race) processes() (ours, theirs finish, err error) {
	self, err := os.Executable()
	if err != nil {
		return ours, theirs, fmt.Errorf("find this program: %w", err)
	}
	files := workload.FilesIn(r.dir)
	out := filepath.Join(r.dir, "ours.json")
	own := []string{self, "ours", "-pods", files.Pods, "-catalog", files.Catalogue, "-daemons", files.Daemons, "-quiet", "-o", out}
	upstream, plan := []string{r.peer, r.dir}, filepath.Join(r.dir, "upstream.json")
	if r.ignore {
		own = append(own, "-ignore-preferences")
		upstream, plan = []string{r.peer, "-ignore-preferences", r.dir}, filepath.Join(r.dir, "upstream-ignore.json")
	}
	var ownRuns, theirRuns []result.Run
	for range max(r.rounds, 1) {
		if err := r.process(&ours, &ownRuns, own, out); err != nil {
			return ours, theirs, err
		}
		if r.peer == "" || r.alone {
			continue
		}
		if err := r.process(&theirs, &theirRuns, upstream, plan); err != nil {
			return ours, theirs, err
		}
	}
	return ours, theirs, nil
}

// process runs a program once, unless it took too long before, and reads its plan.
func (r *race) process(f *finish, runs *[]result.Run, program []string, plan string) error {
	if len(*runs) > 0 && (*runs)[0].Seconds > r.patience {
		return nil
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w", filepath.Base(program[0]), err)
	}
	run, err := result.Read(plan)
	if err != nil {
		return err
	}
	*runs = append(*runs, *run)
	f.ran, f.run = true, run
	f.seconds = medianOf(*runs, func(r result.Run) float64 { return r.Seconds })
	f.cpu = medianOf(*runs, func(r result.Run) float64 { return r.CPU })
	return nil
}

// judge scores the last plan of a solver and adds its faults.
func (r *race) judge(j *result.Judge, f *finish) {
	score, err := j.Score(f.run)
	f.score = score
	if err != nil {
		r.faults = append(r.faults, fmt.Sprintf("%s: %s: %v", r.trial, f.run.Engine, err))
	}
	if n := len(f.run.Violations); n > 0 {
		r.faults = append(r.faults, fmt.Sprintf("%s: %s: %d violations, first: %s", r.trial, f.run.Engine, n, f.run.Violations[0]))
	}
}

func medianOf(runs []result.Run, of func(result.Run) float64) float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	return median(values)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

func (r *race) row(ours, theirs finish, least float64) string {
	speed := func(f finish) float64 { return float64(r.count) / f.seconds }
	cells := []string{
		r.trial.String(), f0(ours, speed(ours)), f0(theirs, speed(theirs)), f0(theirs, theirs.seconds/ours.seconds), f0(theirs, theirs.cpu/ours.cpu),
		f2(ours, ours.score.Price), f2(theirs, theirs.score.Price), fmt.Sprintf("%.2f", least),
		over(ours, least), over(theirs, least),
		f0(ours, float64(ours.score.Nodes)), f0(theirs, float64(theirs.score.Nodes)),
		f0(ours, float64(ours.score.Unplaced)), f0(theirs, float64(theirs.score.Unplaced)), megabytes(ours), megabytes(theirs),
	}
	row := "|"
	for _, c := range cells {
		row += " " + c + " |"
	}
	return row
}

// none is the text of a table cell without a measurement.
const none = "-"

func f0(f finish, v float64) string {
	if !f.ran {
		return none
	}
	return fmt.Sprintf("%.0f", v)
}

func f2(f finish, v float64) string {
	if !f.ran {
		return none
	}
	return fmt.Sprintf("%.2f", v)
}

// over returns the ratio of price and floor, or none for a plan with unplaced pods.
func over(f finish, least float64) string {
	if !f.ran || f.score.Unplaced > 0 {
		return none
	}
	return fmt.Sprintf("%.4f", f.score.Price/least)
}

func megabytes(f finish) string {
	if !f.ran {
		return none
	}
	return fmt.Sprintf("%.1f MB", float64(f.run.Allocated)/1e6)
}
