package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Parse of the formatted text of a generated scenario returns an equal scenario.
func TestFormat(t *testing.T) {
	for seed := range uint64(200) {
		want := Generate(seed, period)
		got, err := Parse(want.Format())
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, want.Format())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// Errors of Parse name the line, and the usage of the verb if its arguments are wrong.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"at 5m fly", `unknown verb "fly"`},
		{"at soon crash", `invalid duration "soon"`},
		{"at 5m api-errors 0.2", "usage: at TIME api-errors RATE [PATH] for D"},
		{"at 5m crash for 3m", "usage: at TIME crash"},
		{"after 5m crash", "want at TIME VERB"},
		{"seed one", `parsing "one"`},
	} {
		_, err := Parse([]byte("Prose.\n-- story --\nseed 1\n" + tt.line + "\n"))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "story:2") {
			t.Errorf("%s: error %v, want %s in line 2", tt.line, err, tt.want)
		}
	}
}

// A short scenario has the length that it was generated for, and all its events end early enough to recover.
func TestShortScenarios(t *testing.T) {
	for seed := range uint64(500) {
		s := Generate(seed, Shortest)
		if got := s.End() + s.Length; got != Shortest {
			t.Fatalf("seed %d lasts %s, want %s", seed, got, Shortest)
		}
		if s.End() > Shortest-shortRecoveryTime || len(s.Events) < 8 {
			t.Fatalf("seed %d has %d events until %s", seed, len(s.Events), s.End())
		}
		for _, e := range s.Events {
			if _, err := parseEvent(strings.Fields(e.String())[1:]); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, e, err)
			}
		}
	}
}

// Generate uses every fault for some seed.
func TestAllFaultsAreGenerated(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(500) {
		for _, e := range Generate(seed, period).Events {
			seen[e.Verb] = true
		}
	}
	for _, fault := range Faults() {
		if !seen[fault] {
			t.Errorf("no seed below 500 has the fault %s", fault)
		}
	}
}

// Shrink keeps what is needed for the violation and removes the rest.
func TestShrink(t *testing.T) {
	s := Generate(3, period)
	needed := s.Events[len(s.Events)/2].String()
	small := Shrink(s, 200, func(c *Scenario) bool {
		for _, e := range c.Events {
			if e.String() == needed {
				return true
			}
		}
		return false
	})
	if len(small.Events) != 1 || small.Events[0].String() != needed || small.Replicas != 1 || len(small.Flags) != 0 {
		t.Errorf("shrunk to\n%s\nwant only %s", small.Format(), needed)
	}
}
