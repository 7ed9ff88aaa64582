package prices

import (
	"fmt"
	"strings"
	"testing"
)

func TestCommitments(t *testing.T) {
	r, err := ParseRules(`
commitments:
- {name: zonal, match: {types: [m5.large]}, zones: [a], instances: 3}
- {name: family, match: {families: [m5]}, instances: 10, size: large}
- {name: plan, usdPerHour: 1.5, percent: 28}
fees: [{name: agent, usd: 0.01}]
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		instanceType, zone string
		list               float64
		want               string
	}{
		{"m5.large", "a", 0.096, "zonal 1 of 3, family 16 of 160, plan 69120 of 1500000, fees 0.01"},
		{"m5.large", "b", 0.096, "family 16 of 160, plan 69120 of 1500000, fees 0.01"},
		{"m5.4xlarge", "a", 0.768, "family 128 of 160, plan 552960 of 1500000, fees 0.01"},
		{"m5.metal", "a", 4.608, "plan 3317760 of 1500000, fees 0.01"}, // metal sizes have no factor
		{"c5.large", "b", 0.1, "plan 72000 of 1500000, fees 0.01"},
		{"c5.large", "b", 0, "fees 0"}, // a Savings Plan needs the list price
	} {
		covers, fees := r.Covers(tt.instanceType, tt.zone, tt.list)
		var parts []string
		for i, c := range covers {
			parts = append(parts, fmt.Sprintf("%s %d of %d", c.Commitment.ID, c.Use, c.Commitment.Units))
			if i > 0 && c.Commitment.Order <= covers[i-1].Commitment.Order {
				t.Errorf("%s: the order of commitments is not that of the price book", tt.instanceType)
			}
		}
		if got := strings.Join(append(parts, fmt.Sprint("fees ", fees)), ", "); got != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.instanceType, tt.zone, got, tt.want)
		}
	}
}

func TestInvalidCommitments(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`[{instances: 1}]`, "commitments[0].name: is empty"},
		{`[{name: a, instances: 1}, {name: a, instances: 1}]`, `commitments[1].name: "a" is the name of another`},
		{`[{name: a}]`, "commitments[0].instances: set either instances"},
		{`[{name: a, instances: 1, usdPerHour: 2}]`, "commitments[0].instances: set either instances"},
		{`[{name: a, instances: -1}]`, "commitments[0].instances: -1 is not from 1"},
		{`[{name: a, usdPerHour: -2}]`, "commitments[0].usdPerHour: -2 is not from 0"},
		{`[{name: a, usdPerHour: 1e300}]`, "commitments[0].usdPerHour: 1e+300 is not from 0"},
		{`[{name: a, usdPerHour: 2, percent: 100}]`, "commitments[0].percent: 100 is not from 0"},
		{`[{name: a, instances: 2, percent: 30}]`, "commitments[0].percent: is for usdPerHour only"},
		{`[{name: a, usdPerHour: 2, size: large}]`, "commitments[0].size: is for instances only"},
		{`[{name: a, instances: 2, size: big}]`, `commitments[0].size: "big" is not a size`},
		{`[{name: a, instances: 2, match: {capacityTypes: [spot]}}]`, "commitments[0].match.capacityTypes: commitments are for on-demand only"},
		{`[{name: a, instances: 2, hours: 3}]`, "unknown field"},
	} {
		_, err := ParseRules("commitments: " + tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.text, err, tt.want)
		}
	}
}
