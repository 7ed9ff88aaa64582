package upstream

import (
	"slices"
	"testing"
)

func TestBreaches(t *testing.T) {
	for name, tt := range map[string]struct {
		series string
		want   []string
	}{
		"as upstream":     {`karpenter_consolidation_moves_total{decision="approved",nodepool="a",policy="Balanced"}`, nil},
		"not upstream's":  {`karpenter_throttle_paused{action="launches"}`, nil},
		"escaped value":   {`karpenter_nodepools_cost_total{nodepool="a\\",b=\"c"}`, nil},
		"other label":     {`karpenter_nodepools_cost_total{nodepool="a",zone="b"}`, []string{"karpenter_nodepools_cost_total: label zone is not upstream's"}},
		"missing label":   {`karpenter_nodepools_cost_total`, []string{"karpenter_nodepools_cost_total: label nodepool is missing"}},
		"other value":     {`karpenter_consolidation_score_bucket{decision="approved",nodepool="a",policy="balanced",le="1"}`, []string{`karpenter_consolidation_score: label policy has the value "balanced"`}},
		"empty value":     {`karpenter_voluntary_disruption_decisions_total{decision="delete",reason="drifted",consolidation_type=""}`, nil},
		"labels of nodes": {`karpenter_nodes_current_lifetime_seconds{node_name="n",phase="",managed="true",instance_cpu="2"}`, nil},
		"a condition": {`operator_nodeclaim_status_condition_transition_seconds_sum{type="Ready",status="Unknown",nodepool="",nodeclass=""}`,
			[]string{"operator_KIND_status_condition_transition_seconds: label to_status is missing"}},
		"any kind": {`operator_termination_duration_seconds_count{nodepool="",nodeclass="",group="",kind="Node"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := Breaches([]string{tt.series})
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("breaches are %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestSeries(t *testing.T) {
	got := Series("# HELP a b c\n# TYPE a counter\na{pod=\"x y\"} 1\n\nb 2e+06\n")
	if want := []string{`a{pod="x y"}`, "b"}; !slices.Equal(got, want) {
		t.Errorf("series are %q, want %q", got, want)
	}
}

func TestFixedValues(t *testing.T) {
	got := FixedValues(`decision: no-op replace; consolidation_type: "" multi`)
	if !slices.Equal(got["decision"], []string{"no-op", "replace"}) || !slices.Equal(got["consolidation_type"], []string{"", "multi"}) {
		t.Errorf("values are %v", got)
	}
	if len(FixedValues("")) != 0 {
		t.Error("no text has values")
	}
}
