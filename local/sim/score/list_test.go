package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Scores that are kept are found again, the last of the same build and first seed first.
func TestListOfScores(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scores.jsonl")
	if all, err := readScores(file); err != nil || len(all) != 0 {
		t.Fatalf("a file that does not exist has the scores %v, %v", all, err)
	}
	first := score{Mutant: "a", Seeds: 2, First: 1, Seconds: 5, Build: "x"}
	second := score{Mutant: "a", Seeds: 7, First: 1, Seconds: 9, Build: "x", Caught: true, Rule: "limits", Seed: 7}
	for _, s := range []score{first, {Mutant: "a", Build: "y", First: 1}, second, {Mutant: "b", Build: "x", First: 1}} {
		if err := s.keep(file); err != nil {
			t.Fatal(err)
		}
	}
	known, err := readScores(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, score{Mutant: "a", First: 1, Build: "x"}.earlier(known)); diff != "" {
		t.Errorf("the earlier score differs (-want +got):\n%s", diff)
	}
	for _, fresh := range []score{{Mutant: "a", First: 1, Build: "z"}, {Mutant: "a", First: 100, Build: "x"}, {Mutant: "c", First: 1, Build: "x"}} {
		if diff := cmp.Diff(fresh, fresh.earlier(known)); diff != "" {
			t.Errorf("a score of another mutant, build or seed is used:\n%s", diff)
		}
	}
}

// The table has a fixed order of columns, because scripts read it.
func TestTableOfScores(t *testing.T) {
	var out strings.Builder
	err := write(&out, []score{
		{Mutant: "first", Caught: true, Rule: "limits", Story: "limits.txtar", Seconds: 3.4},
		{Mutant: "second", Caught: true, Rule: "limits", Seed: 7, Seeds: 7, Seconds: 9},
		{Mutant: "third", Seeds: 20, Seconds: 11},
	}, "table")
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"MUTANT", "CAUGHT", "SEEDS", "SECONDS", "BY", "WITH"},
		{"first", "yes", "0", "3", "limits", "limits"},
		{"second", "yes", "7", "9", "limits", "seed", "7"},
		{"third", "no", "20", "11"},
		{"2", "of", "3", "caught"},
	}
	var got [][]string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Fields(line))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}
