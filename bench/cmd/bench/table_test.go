package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
)

func TestVerdicts(t *testing.T) {
	score := func(price float64, unplaced int) result.Score { return result.Score{Price: price, Unplaced: unplaced} }
	for _, tt := range []struct {
		name string
		duel duel
		want string // a prefix of the verdict
	}{
		{"cheaper", duel{ours: score(1, 0), theirs: score(2, 0)}, ""},
		{"equal", duel{ours: score(2, 0), theirs: score(2, 0)}, ""},
		{"equal but for rounding", duel{ours: score(2*(1+1e-12), 0), theirs: score(2, 0)}, ""},
		{"dearer", duel{ours: score(2.02, 0), theirs: score(2, 0), least: 1}, "dearer: $2.0200, upstream $2.0000 (1.00%)"},
		{"cheap because pods are left out", duel{ours: score(1, 3), theirs: score(2, 0)}, "leaves 3 pods out, upstream 0"},
		{"dear because more is placed", duel{ours: score(3, 0), theirs: score(2, 4)}, ""},
		{"a plan that does not hold", duel{ours: score(1, 0), theirs: score(2, 0), fault: "ours: x"}, "ours: x"},
		{"alone", duel{ours: score(1, 0), alone: true}, ""},
		{"alone, with pods left out", duel{ours: score(1, 2), alone: true}, "leaves 2 pods out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.duel.verdict()
			if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("verdict %q, want %q", got, tt.want)
			}
		})
	}
}

// A plan with unplaced pods is excluded from the comparison of prices.
func TestSummary(t *testing.T) {
	whole := duel{seed: 1, least: 1, ours: result.Score{Price: 1.1, Nodes: 2}, theirs: result.Score{Price: 2, Nodes: 1}}
	part := duel{seed: 2, least: 1, ours: result.Score{Price: 0.1, Nodes: 1, Unplaced: 5}, theirs: result.Score{Price: 2, Nodes: 1}}
	row, exceptions := summary(workload.Micro, []duel{whole, part})
	if want := "| micro | 2 | 1 | 1.1000, 1.1000 | 2.0000, 2.0000 | 0.5500, 0.5500 | 3 | 2 |"; row != want {
		t.Errorf("row\n%s\nwant\n%s", row, want)
	}
	if len(exceptions) != 1 || !strings.HasPrefix(exceptions[0], "micro seed 2: leaves 5 pods out") {
		t.Errorf("exceptions %q", exceptions)
	}
}

// A row has a cell for each column of the header, also when upstream did not run.
func TestRow(t *testing.T) {
	r := race{trial: trials[0]}
	ours := finish{ran: true, seconds: 0.5, run: &result.Run{}, score: result.Score{Price: 3}}
	columns := strings.Count(strings.Split(header, "\n")[0], "|")
	for _, theirs := range []finish{{}, {ran: true, seconds: 5, cpu: 1, run: &result.Run{}, score: result.Score{Price: 4}}} {
		row := r.row(ours, theirs, 2)
		if got := strings.Count(row, "|"); got != columns {
			t.Errorf("%d bars in a row, %d in the header:\n%s", got, columns, row)
		}
		if theirs.ran != strings.Contains(row, "| 10000 | 1000 | 10 |") {
			t.Errorf("the speeds are wrong:\n%s", row)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{2: {3, 1, 2}, 2.5: {4, 1, 3, 2}, 7: {7}} {
		if got := median(values); got != want {
			t.Errorf("median of %v is %v, want %v", values, got, want)
		}
	}
}

// The program can read the input that it writes for other solvers, and makes the same plan from it.
func TestInputAndOurs(t *testing.T) {
	dir := t.TempDir()
	if err := dispatch([]string{"input", "-profile", "micro", "-count", "50", "-types", "cmr6", "-out", dir}); err != nil {
		t.Fatal(err)
	}
	f := workload.FilesIn(dir)
	var runs [2]*result.Run
	for i, args := range [][]string{
		{"-pods", f.Pods, "-catalog", f.Catalogue, "-daemons", f.Daemons}, {"-profile", "micro", "-count", "50", "-types", "cmr6"},
	} {
		out := dir + "/run.json"
		if err := dispatch(append([]string{"ours", "-quiet", "-o", out}, args...)); err != nil {
			t.Fatal(err)
		}
		var err error
		if runs[i], err = result.Read(out); err != nil {
			t.Fatal(err)
		}
	}
	if len(runs[0].Nodes) == 0 || len(runs[0].Nodes) != len(runs[1].Nodes) || runs[0].Floor != runs[1].Floor {
		t.Errorf("from files: %d nodes, floor %v; made: %d nodes, floor %v", len(runs[0].Nodes), runs[0].Floor,
			len(runs[1].Nodes), runs[1].Floor)
	}
}

func TestUnknownNames(t *testing.T) {
	for _, args := range [][]string{{}, {"nothing"}, {"ours", "-profile", "x"}, {"ours", "-types", "x"}, {"input"}} {
		if err := dispatch(args); err == nil {
			t.Errorf("bench %v: no error", args)
		}
	}
}

// A cached plan is used for the same input, and not for other input.
func TestRivalRemembers(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "peer")
	// This script replaces upstream. It records that it was called, and writes an empty plan.
	script := "#!/bin/sh\necho called >> " + dir + "/calls\nfor d in \"$@\"; do echo '{\"engine\": \"x\"}' > $d/upstream.json; done\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r := rival{peer: program, kept: filepath.Join(dir, "kept")}
	for _, seed := range []uint64{1, 1, 2} {
		c, err := workload.New(workload.Micro, 5, seed, "synthetic400")
		if err != nil {
			t.Fatal(err)
		}
		plans, err := r.plan([]*workload.Cluster{c})
		if err != nil || len(plans) != 1 || plans[0].Engine != "x" {
			t.Fatalf("plans %v, %v", plans, err)
		}
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if got := strings.Count(string(calls), "called"); err != nil || got != 2 {
		t.Errorf("upstream was called %d times for two inputs (%v)", got, err)
	}
}
