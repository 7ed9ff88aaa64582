// The setting below lets Driver of internal/sim seed the random numbers of libraries.
//
//go:debug randseednop=0
package sim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	runtime.MemProfileRate = 0
	os.Exit(m.Run())
}

// options returns the options with which the tests play scenarios.
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
	if *workers > 1 && !*stop && !*tell && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		divideStories(t, files)
		return
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
			for _, line := range r.Unmet(sc.Want) {
				r.Violations = append(r.Violations, sim.Violation{At: r.Length, Rule: storyFails, Detail: line})
			}
			if *tell {
				fmt.Printf("%s%s\n", reported, reportOf(sc.Seed, filepath.Base(file), r))
			}
			for _, v := range r.Violations {
				t.Error(v)
			}
			t.Logf("trace %s of %d lines: %s in %s", r.Hash, r.Lines, r.Summary(), r.Length.Round(time.Minute))
		})
		if *stop && t.Failed() {
			break
		}
	}
}

// storyFails is the rule that a line of the file "want" does not hold.
const storyFails = "story-fails"

// divideStories plays the stories in as many processes as there are workers, with this process's flags.
func divideStories(t *testing.T, files []string) {
	names := make([][]string, *workers)
	for i, file := range files {
		n := i % len(names)
		names[n] = append(names[n], regexp.QuoteMeta(filepath.Base(file)))
	}
	var all sync.WaitGroup
	for _, some := range names {
		if len(some) == 0 {
			continue
		}
		all.Go(func() {
			args := append(slices.Clone(os.Args[1:]), "-test.run=^TestStories$/^("+strings.Join(some, "|")+")$", "-test.count=1", "-workers=1")
			out, err := exec.CommandContext(t.Context(), os.Args[0], args...).CombinedOutput()
			if err != nil || testing.Verbose() {
				t.Logf("%s", out)
			}
			if err != nil {
				t.Errorf("stories: %v", err)
			}
		})
	}
	all.Wait()
}

// A scenario that is played twice has the same trace.
func TestReplay(t *testing.T) {
	data, err := os.ReadFile("../../internal/sim/testdata/" + replayed)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := sim.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var hashes []string
	for range 2 {
		r, err := sim.Play(t, sc, options(t, "replay"))
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, r.Hash)
	}
	if hashes[0] != hashes[1] {
		t.Errorf("the traces of %s are %v", replayed, hashes)
	}
}

// replayed is a story with faults of calls, a change of the leader, and consolidation.
const replayed = "two_leaders_for_a_moment.txtar"

var (
	first   = flag.Uint64("seed", 1, "the first seed of TestSeeds")
	count   = flag.Uint64("seeds", 1, "how many seeds TestSeeds plays")
	stride  = flag.Uint64("stride", 1, "the difference between two seeds of TestSeeds")
	workers = flag.Uint64("workers", uint64(max(1, runtime.NumCPU())), "how many processes play the seeds of TestSeeds and the stories")
	tries   = flag.Int("shrink", 40, "how many simulations may be used to shrink the scenario of a seed that fails")
	twice   = flag.Bool("twice", false, "play each seed twice, and fail if the traces differ")
	length  = flag.Duration("length", 2*time.Hour, "the virtual time that TestSeeds simulates for each seed, at least 20m")
	brief   = flag.Uint64("brief", 10, "how many seeds TestBriefSeeds plays")
	from    = flag.Uint64("brief-from", 1, "the first seed of TestBriefSeeds")
	stop    = flag.Bool("stop", false, "end TestSeeds and TestStories after the first scenario that fails")
	tell    = flag.Bool("report", false, "print a line with JSON for each scenario")
	list    = flag.String("list", "", "append the lines of -report to this file, and leave out the seeds that are in it")
	save    = flag.String("save", "", "write the shrunk scenarios of seeds that fail to this directory")
)

// briefly is the virtual time for which TestBriefSeeds plays each seed.
const briefly = 20 * time.Minute

// TestBriefSeeds plays the scenarios of many seeds for a short time each.
func TestBriefSeeds(t *testing.T) {
	divide(t, batch{first: *from, count: *brief, stride: 1, length: briefly})
}

// A batch is a number of seeds that are played for the same virtual time. Stride is the difference between two seeds.
type batch struct {
	first, count, stride uint64
	length               time.Duration
}

// TestSeeds plays the scenarios of seeds, and no invariant is violated. The scenario of a seed that fails is printed in the
// smallest form that still fails. A simulation runs on one processor, so several processes play the seeds.
func TestSeeds(t *testing.T) {
	if *workers > 1 && *count > 1 && !*stop {
		divide(t, batch{*first, *count, *stride, *length})
		return
	}
	sum := total{struck: map[string]int{}}
	known := listed(t)
	for i := range *count {
		seed := *first + i**stride
		if known[seed] {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { sum.add(playSeed(t, seed)) })
		if *stop && t.Failed() {
			break
		}
	}
	t.Log(sum)
}

// playSeed plays the scenario of one seed and returns its result.
func playSeed(t *testing.T, seed uint64) line {
	sc := sim.Generate(seed, max(*length, sim.Shortest))
	r, err := sim.Play(t, sc, options(t, fmt.Sprint("seed-", seed)))
	if err != nil {
		t.Fatal(err)
	}
	data := reportOf(seed, "", r)
	if *tell {
		fmt.Printf("%s%s\n", reported, data)
	}
	keep(t, data)
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
	return lineOf(seed, "", r)
}

// divide plays the seeds of a batch in as many processes as there are workers. Each runs TestSeeds with this process's flags, and
// has every n-th seed if there are n processes.
func divide(t *testing.T, b batch) {
	n := max(1, min(*workers, b.count))
	var mu sync.Mutex // guards sum
	sum := total{struck: map[string]int{}}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			args := append(slices.Clone(os.Args[1:]), "-test.run=^TestSeeds$", "-test.v", "-test.count=1", "-report", "-workers=1",
				fmt.Sprint("-seed=", b.first+i*b.stride), fmt.Sprint("-stride=", n*b.stride), fmt.Sprint("-seeds=", (b.count-i+n-1)/n),
				fmt.Sprint("-length=", b.length))
			cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
			out, err := cmd.CombinedOutput()
			for text := range bytes.Lines(out) {
				var l line
				if data, ok := bytes.CutPrefix(text, []byte(reported)); ok && json.Unmarshal(data, &l) == nil {
					if *tell {
						fmt.Printf("%s%s\n", reported, bytes.TrimSpace(data))
					}
					mu.Lock()
					sum.add(l)
					mu.Unlock()
					t.Logf("seed %d: trace %s of %d lines %s", l.Seed, l.Hash, l.Lines, l.Detail)
				}
			}
			if err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
	all.Wait()
	t.Log(sum)
}

// reported begins a line of output that has the result of a scenario.
const reported = "result "

// A total is the sum of the results of seeds.
type total struct {
	seeds  int
	hours  float64
	struck map[string]int
}

// add adds the result of one seed.
func (s *total) add(l line) {
	s.seeds++
	s.hours += l.Hours
	for fault, n := range l.Struck {
		s.struck[fault] += n
	}
}

func (s total) String() string {
	return fmt.Sprintf("%d seeds, %.0fh of virtual time; faults that struck: %v", s.seeds, s.hours, s.struck)
}

// A line is one line of a report: the result of a scenario.
type line struct {
	Seed   uint64         `json:"seed"`
	Story  string         `json:"story,omitempty"`
	Hash   string         `json:"hash"`
	Lines  int            `json:"lines"`
	Hours  float64        `json:"hours"`
	Rule   string         `json:"rule,omitempty"`
	Detail string         `json:"detail,omitempty"`
	Struck map[string]int `json:"struck,omitempty"`
}

// lineOf returns the result of a scenario as a line of a report.
func lineOf(seed uint64, story string, r sim.Result) line {
	l := line{Seed: seed, Story: story, Hash: r.Hash, Lines: r.Lines, Hours: r.Length.Hours(), Struck: r.Struck}
	if len(r.Violations) > 0 {
		l.Rule, l.Detail = r.Violations[0].Rule, r.Violations[0].String()
	}
	return l
}

// reportOf returns the result of a scenario as a line of JSON.
func reportOf(seed uint64, story string, r sim.Result) []byte {
	data, err := json.Marshal(lineOf(seed, story, r))
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	return data
}

// listed returns the seeds that are in the file of -list.
func listed(t *testing.T) map[uint64]bool {
	known := map[uint64]bool{}
	if *list == "" {
		return known
	}
	data, err := os.ReadFile(*list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%s: %v", *list, err)
		}
		known[l.Seed] = true
	}
	return known
}

// keep appends a line to the file of -list.
func keep(t *testing.T, data []byte) {
	if *list == "" {
		return
	}
	f, err := os.OpenFile(*list, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(data, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
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
