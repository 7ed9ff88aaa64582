// Randomness of libraries is seeded; see newWorld of internal/sim.
//
//go:debug randseednop=0
package sim_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/internal/sim"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
	"github.com/karpenter-go/karpenter/local/sim/scheduler"
)

var verbose = flag.String("traces", "", "write the trace of each simulation to this directory")

func TestMain(m *testing.M) {
	flag.Parse()
	// One goroutine runs at a time, so that the order in which goroutines run between two steps is the same in each run.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // the heap is small, and collecting it takes a fifth of the time
	os.Exit(m.Run())
}

// options are how the tests play scenarios.
func options(t *testing.T, name string) sim.Options {
	o := sim.Options{Scheduler: func(server *kubeapi.Server, seed uint64) (sim.Actor, error) { return scheduler.New(server, seed) }}
	if *verbose != "" {
		f, err := os.Create(filepath.Join(*verbose, name+".trace"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		o.Trace, o.Log, o.LogLevel = f, f, "info"
	}
	return o
}

// Each story of internal/sim/testdata is played, and no invariant is violated.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("../../internal/sim/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sc, err := sim.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			r, err := sim.Play(t, sc, options(t, filepath.Base(file)))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range r.Violations {
				t.Error(v)
			}
			if sc.Want != "" && r.Summary() != sc.Want {
				t.Errorf("%s, want %s", r.Summary(), sc.Want)
			}
			t.Logf("trace %s of %d lines: %s in %s", r.Hash, r.Lines, r.Summary(), r.Length.Round(time.Minute))
		})
	}
}

var (
	first = flag.Uint64("seed", 1, "the first seed of TestSeeds")
	count = flag.Uint64("seeds", 6, "how many seeds TestSeeds plays")
	tries = flag.Int("shrink", 40, "how many simulations may be used to shrink the scenario of a seed that fails")
	twice = flag.Bool("twice", false, "play each seed twice, and fail if the traces differ")
	stop  = flag.Bool("stop", false, "end TestSeeds after the first seed that fails")
	tell  = flag.Bool("report", false, "print a line with JSON for each seed")
	save  = flag.String("save", "", "write the shrunk scenarios of seeds that fail to this directory")
)

// TestSeeds plays the scenarios of seeds, and no invariant is violated. The scenario of a seed that fails is printed in the
// smallest form that still fails.
func TestSeeds(t *testing.T) {
	struck := map[string]int{}
	var length time.Duration
	for seed := *first; seed < *first+*count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			sc := sim.Generate(seed)
			r, err := sim.Play(t, sc, options(t, fmt.Sprint("seed-", seed)))
			if err != nil {
				t.Fatal(err)
			}
			for fault, n := range r.Struck {
				struck[fault] += n
			}
			length += r.Length
			if *tell {
				printReport(seed, r)
			}
			if *twice {
				again, err := sim.Play(t, sc, sim.Options{Scheduler: options(t, "twice").Scheduler})
				if err != nil {
					t.Fatal(err)
				}
				if again.Hash != r.Hash {
					t.Errorf("the second trace is %s of %d lines, the first was %s of %d", again.Hash, again.Lines, r.Hash, r.Lines)
				}
			}
			t.Logf("trace %s of %d lines: %s in %s", r.Hash, r.Lines, r.Summary(), r.Length.Round(time.Minute))
			if len(r.Violations) > 0 {
				report(t, sc, r)
			}
		})
		if *stop && t.Failed() {
			break
		}
	}
	t.Logf("%d seeds, %s of virtual time; faults that struck: %v", *count, length.Round(time.Hour), struck)
}

// printReport prints what came of a seed as JSON, for programs.
func printReport(seed uint64, r sim.Result) {
	line := struct {
		Seed   uint64 `json:"seed"`
		Hash   string `json:"hash"`
		Lines  int    `json:"lines"`
		Rule   string `json:"rule,omitempty"`
		Detail string `json:"detail,omitempty"`
	}{Seed: seed, Hash: r.Hash, Lines: r.Lines}
	if len(r.Violations) > 0 {
		line.Rule, line.Detail = r.Violations[0].Rule, r.Violations[0].String()
	}
	data, err := json.Marshal(line)
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	fmt.Printf("result %s\n", data)
}

// report prints a violation with the smallest scenario that still has it.
func report(t *testing.T, sc *sim.Scenario, r sim.Result) {
	for _, v := range r.Violations {
		t.Error(v)
	}
	if *tries == 0 {
		return
	}
	rule := r.Violations[0].Rule
	small := sim.Shrink(sc, *tries, func(c *sim.Scenario) bool {
		r, err := sim.Play(t, c, sim.Options{Scheduler: options(t, "shrink").Scheduler})
		return err == nil && len(r.Violations) > 0 && r.Violations[0].Rule == rule
	})
	small.Prose = fmt.Sprintf("Violates %s: %s", rule, r.Violations[0].Detail)
	t.Logf("the smallest scenario that violates %s:\n%s", rule, small.Format())
	if *save != "" {
		if err := os.WriteFile(filepath.Join(*save, fmt.Sprintf("seed_%d.txtar", sc.Seed)), small.Format(), 0o644); err != nil {
			t.Error(err)
		}
	}
}
