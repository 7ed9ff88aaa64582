package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A player builds and runs the tests of the simulation.
type player struct {
	// root is the root folder of the repository, and dir the folder for builds.
	root, dir string
	length    time.Duration // the virtual time of a seed
	// rules[seed] is the invariant that the product violates without a mutant, empty for none. It has the seeds played so far.
	rules map[uint64]string
}

// newPlayer returns a player. The working directory must be the folder of the module local.
func newPlayer(dir string, length time.Duration) *player {
	return &player{root: "..", dir: dir, length: length, rules: map[uint64]string{}}
}

// product returns the path of the test binary of the product without a mutant. The first call builds it.
func (p *player) product(ctx context.Context) (string, error) {
	binary := filepath.Join(p.dir, "product.test")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	return binary, p.build(ctx, binary, "")
}

// build builds the test binary of the simulation. If overlay is not empty, it is the file for the flag -overlay.
func (p *player) build(ctx context.Context, binary, overlay string) error {
	args := []string{"test", "-c", "-ldflags=-s -w", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "./sim")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// A finding is the first violation of a run, and the number of seeds played until then.
type finding struct {
	seed    uint64
	story   string // empty for a seed
	rule    string // empty: no violation
	seeds   int
	seconds float64
}

// crashed is the rule for simulations that end without a result: a panic outside of a reconcile, or a deadlock.
const crashed = "simulation-ends"

// storyPanics is the rule for a story that panics.
const storyPanics = "story-panics"

// patience is the longest real time that one simulation may take. A mutant may make the product loop endlessly.
const patience = 20 * time.Minute

// stories plays the stories until one violates an invariant.
func (p *player) stories(ctx context.Context, binary string) (finding, error) {
	return p.run(ctx, binary, "TestStories", 0, 0)
}

// play plays seeds until one violates an invariant.
func (p *player) play(ctx context.Context, binary string, seed, seeds uint64) (finding, error) {
	return p.run(ctx, binary, "TestSeeds", seed, seeds)
}

// run runs a test of the binary on the given seeds, and returns its first violation.
func (p *player) run(ctx context.Context, binary, test string, seed, seeds uint64) (finding, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, binary, "-test.run=^"+test+"$", "-test.timeout=0", "-report", "-shrink=0", "-stop",
		fmt.Sprint("-seed=", seed), fmt.Sprint("-seeds=", seeds), fmt.Sprint("-length=", p.length))
	cmd.Dir = filepath.Join(p.root, "local", "sim")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return finding{}, err
	}
	if err := cmd.Start(); err != nil {
		return finding{}, fmt.Errorf("play: %w", err)
	}
	f, stuck := read(out, seed, stop)
	_ = cmd.Wait() // a violation is a failure of the test
	f.seconds = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if seeds == 0 && f.rule == "" && !cmd.ProcessState.Success() && ctx.Err() == nil {
		f.rule = storyPanics
	}
	if f.rule == "" && (stuck || f.seeds < int(seeds)) {
		if !stuck && ctx.Err() != nil {
			return f, ctx.Err()
		}
		f.rule, f.seed = crashed, seed+uint64(f.seeds)
		f.seeds++
	}
	return f, nil
}

// read reads the reports of simulations. It calls stop if the next one does not come in time.
func read(out io.Reader, first uint64, stop func()) (f finding, stuck bool) {
	timer := time.AfterFunc(patience, stop)
	defer timer.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "result ")
		if !ok {
			continue
		}
		var r struct {
			Seed  uint64 `json:"seed"`
			Story string `json:"story"`
			Rule  string `json:"rule"`
		}
		if json.Unmarshal([]byte(text), &r) != nil {
			continue
		}
		if !timer.Reset(patience) {
			return f, true
		}
		f.seeds++
		if f.seeds%10 == 0 {
			fmt.Fprintf(os.Stderr, "  %d played, the last %s\n", f.seeds, cmp.Or(r.Story, fmt.Sprint("seed ", r.Seed)))
		}
		if r.Rule != "" && f.rule == "" {
			f.rule, f.seed, f.story = r.Rule, r.Seed, r.Story
		}
	}
	return f, !timer.Stop() && f.rule == ""
}

// sound returns the invariant that the product without a mutant violates with a seed, empty if it violates none.
func (p *player) sound(ctx context.Context, seed uint64) (string, error) {
	if rule, ok := p.rules[seed]; ok {
		return rule, nil
	}
	product, err := p.product(ctx)
	if err != nil {
		return "", err
	}
	f, err := p.play(ctx, product, seed, 1)
	if err != nil {
		return "", err
	}
	p.rules[seed] = f.rule
	return f.rule, nil
}
