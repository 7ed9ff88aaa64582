// Command score measures how many of the planted defects of package mutant the simulation finds.
//
// Each mutant is built with an overlay. All stories are played with it, and then seed by seed, until an invariant is violated. A
// violation counts only if the product without the mutant does not have it with the same seed.
//
// The flag -mutants names a folder with other mutants than those of package mutant, and -length the virtual time of a seed.
//
// The flag -list names a file to which the score of each mutant is appended. A mutant whose score is in the file is left out, if
// the score is of the same build: of the product, the simulation, the stories and the mutant. A mutant that was not caught is
// played on with the seeds that are not in its score.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/karpenter-go/karpenter/local/sim/mutant"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	first, seeds uint64
	only, output string
	// mutants is the folder with the mutants, empty for those of package mutant. length is the virtual time of a seed.
	mutants string
	length  time.Duration
	// list is the file with the scores of earlier runs, empty for none.
	list string
}

// A score is the result for one mutant.
type score struct {
	Mutant string `json:"mutant"`
	Caught bool   `json:"caught"`
	// Rule is the invariant that was violated. Story or Seed is the scenario in which it was violated. Seeds is the number of
	// seeds that were played after the stories.
	Rule  string `json:"rule,omitempty"`
	Story string `json:"story,omitempty"`
	Seed  uint64 `json:"seed,omitempty"`
	Seeds int    `json:"seeds"`
	// First is the first seed of those that were played.
	First uint64 `json:"first"`
	// Seconds is the CPU time of the simulations.
	Seconds float64 `json:"seconds"`
	// Build identifies what was played: the test binary and the stories.
	Build string `json:"build"`
}

func run(ctx context.Context) error {
	var o options
	flag.Uint64Var(&o.first, "seed", 1, "the first seed")
	flag.Uint64Var(&o.seeds, "seeds", 1000, "how many seeds to play for one mutant at most")
	flag.StringVar(&o.only, "only", "", "the names of the mutants to play, by comma; empty means all")
	flag.StringVar(&o.output, "o", "table", "the form of the output: table or json")
	flag.StringVar(&o.list, "list", "", "append the scores to this file, and leave out mutants whose score of the same build is in it")
	flag.StringVar(&o.mutants, "mutants", "", "a folder with other mutants, in files *.txtar; empty means those of local/sim/mutant/mutants")
	flag.DurationVar(&o.length, "length", 2*time.Hour, "the virtual time of a seed")
	flag.Parse()
	if o.output != "table" && o.output != "json" {
		return fmt.Errorf("-o is %q, want table or json", o.output)
	}
	all, err := mutant.All()
	if o.mutants != "" {
		all, err = mutant.In(os.DirFS(o.mutants))
	}
	if err != nil {
		return err
	}
	if o.only != "" {
		if all, err = named(all, strings.Split(o.only, ",")); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "sim-score-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	known, err := readScores(o.list)
	if err != nil {
		return err
	}
	p := newPlayer(dir, o.length)
	var scores []score
	for n, m := range all {
		fmt.Fprintf(os.Stderr, "mutant %d of %d: %s\n", n+1, len(all), m.Name)
		s, err := p.score(ctx, m, o, known)
		if (err == nil || s.Seeds > 0) && !slices.Contains(known, s) { // an interrupted score is continued by the next run
			err = errors.Join(err, s.keep(o.list))
		}
		if err != nil {
			return err
		}
		scores = append(scores, s)
		fmt.Fprintf(os.Stderr, "  %s\n", s)
	}
	return write(os.Stdout, scores, o.output)
}

// named returns the mutants with the names, in the order of the names.
func named(all []mutant.Mutant, names []string) (out []mutant.Mutant, err error) {
	for _, name := range names {
		at := slices.IndexFunc(all, func(m mutant.Mutant) bool { return m.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("-only: there is no mutant %q", name)
		}
		out = append(out, all[at])
	}
	return out, nil
}

// String returns the score as a sentence.
func (s score) String() string {
	if !s.Caught {
		return fmt.Sprintf("not caught in %d seeds, %.0f s", s.Seeds, s.Seconds)
	}
	return fmt.Sprintf("caught by %s with %s, %.0f s", s.Rule, s.with(), s.Seconds)
}

// with returns the story or the seed that found the mutant.
func (s score) with() string {
	switch {
	case !s.Caught:
		return ""
	case s.Story != "":
		return strings.TrimSuffix(s.Story, ".txtar")
	}
	return fmt.Sprintf("seed %d", s.Seed)
}

// write prints the scores. Scripts read the first four columns of the table, and the last line.
func write(out io.Writer, scores []score, form string) error {
	caught := 0
	for _, s := range scores {
		if s.Caught {
			caught++
		}
	}
	if form == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"mutants": scores, "caught": caught, "of": len(scores)})
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MUTANT\tCAUGHT\tSEEDS\tSECONDS\tBY\tWITH")
	for _, s := range scores {
		yes := map[bool]string{true: "yes", false: "no"}[s.Caught]
		fmt.Fprintf(w, "%s\t%s\t%d\t%.0f\t%s\t%s\n", s.Mutant, yes, s.Seeds, s.Seconds, s.Rule, s.with())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d of %d caught\n", caught, len(scores))
	return err
}

// score builds a mutant, and plays the stories and then the seeds until one catches the mutant. A story catches it if an
// invariant is violated. A seed catches it if an invariant is violated that the unmodified program does not violate with this
// seed. Stories and seeds that an earlier score in known counts are not played again.
func (p *player) score(ctx context.Context, m mutant.Mutant, o options, known []score) (score, error) {
	s := score{Mutant: m.Name, First: o.first}
	overlay, err := m.Overlay(p.root, p.dir)
	if err != nil {
		return s, err
	}
	binary := filepath.Join(p.dir, m.Name+".test")
	if err := p.build(ctx, binary, overlay); err != nil {
		return s, err
	}
	defer os.Remove(binary)
	if s.Build, err = p.version(binary); err != nil {
		return s, err
	}
	s = s.earlier(known)
	if s.Caught || s.Seeds >= int(o.seeds) {
		return s, nil
	}
	if s.Seconds == 0 { // stories come first
		found, err := p.stories(ctx, binary)
		s.Seconds = found.seconds
		if err != nil || found.rule != "" {
			s.Caught, s.Rule, s.Story = found.rule != "", found.rule, found.story
			return s, err
		}
	}
	return p.seeds(ctx, binary, s, o)
}

// seeds plays the seeds that are not in the score yet.
func (p *player) seeds(ctx context.Context, binary string, s score, o options) (score, error) {
	last := o.first + o.seeds
	for seed := o.first + uint64(s.Seeds); seed < last; {
		found, err := p.play(ctx, binary, seed, last-seed)
		s.Seeds += found.seeds
		s.Seconds += found.seconds
		if err != nil {
			return s, err
		}
		if found.rule == "" {
			break
		}
		sound, err := p.sound(ctx, found.seed)
		if err != nil {
			return s, err
		}
		if sound != found.rule {
			s.Caught, s.Rule, s.Seed = true, found.rule, found.seed
			break
		}
		seed = found.seed + 1
	}
	return s, nil
}
