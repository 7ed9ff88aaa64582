package sim

import (
	"strings"
	"testing"
)

// Unmet returns exactly the lines of "want" that do not hold.
func TestUnmet(t *testing.T) {
	r := Result{
		Launches: 3, Terminations: 1, Replaced: 1,
		Fleet: []string{"a m5.large/us-east-1a/spot", "b m5.large/us-east-1b/on-demand"},
		Pods:  map[string]int{"a=b": 2},
		Statuses: map[string]map[string]any{"NodePool/default": {
			"nodes": int64(2), "resources": map[string]any{"cpu": "4"}, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		}},
		Told: []string{"Node DisruptionBlocked budget is used up", "NodePool Ready "},
	}
	for _, tt := range []struct{ want, unmet string }{
		{"", ""},
		{"launches 3, terminations 1, voluntary disruptions 0\nreplaced 1", ""},
		{"launches 2, terminations 1, voluntary disruptions 0", "launches 3"},
		{"replaced 2", "replaced 1, want replaced 2"},
		{"fleet 1 a */us-east-1a/*\nfleet 1 b m5.*/*/on-demand", ""},
		{"fleet 1 a */*/*", "1 of 2 running instances"},
		{"fleet 2 a */*/*\nfleet 1 b */*/*", "fleet has 1 a"},
		{"fleet 0", "fleet has 2"},
		{"event Node DisruptionBlocked used up", ""},
		{"event NodePool Ready", ""},
		{"event Node DisruptionBlocked schedule", "no event Node DisruptionBlocked schedule"},
		{"event NodePool DisruptionBlocked", "no event"},
		{"fleets 2", "want fleets 2"},
		{"status NodePool/default nodes=2\nstatus NodePool/default resources.cpu=4\nstatus NodePool/default conditions.Ready=True", ""},
		{"pods 2 a=b\npods 0 a=c", ""},
		{"pods 1 a=b", "pods 2 a=b, want"},
		{"status NodePool/default nodes=3", "nodes=2, want"},
		{"status NodePool/default conditions.Gone=True", "conditions.Gone=, want"},
		{"status NodePool/other nodes=2", "nodes=, want"},
	} {
		got := strings.Join(r.Unmet(tt.want), "\n")
		if (got == "") != (tt.unmet == "") || !strings.Contains(got, tt.unmet) {
			t.Errorf("%q: unmet is %q, want %q", tt.want, got, tt.unmet)
		}
	}
}
