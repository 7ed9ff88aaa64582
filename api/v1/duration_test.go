package v1_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func TestNillableDurationKeepsItsText(t *testing.T) {
	for _, test := range []struct {
		text string
		want time.Duration
	}{
		{`"720h"`, 720 * time.Hour},
		{`"90m"`, 90 * time.Minute},
		{`"1h0m30s"`, time.Hour + 30*time.Second},
		{`"0s"`, 0},
	} {
		var d apiv1.NillableDuration
		if err := json.Unmarshal([]byte(test.text), &d); err != nil {
			t.Fatal(err)
		}
		if d.Duration == nil || *d.Duration != test.want {
			t.Errorf("%s is read as %s, want %s", test.text, d, test.want)
		}
		if b, err := json.Marshal(d); err != nil || string(b) != test.text {
			t.Errorf("%s is written as %s (%v)", test.text, b, err)
		}
	}
}

func TestNillableDurationNever(t *testing.T) {
	var d apiv1.NillableDuration
	if err := json.Unmarshal([]byte(`"Never"`), &d); err != nil {
		t.Fatal(err)
	}
	if d.Duration != nil {
		t.Errorf("Never is read as %s", d)
	}
	for _, never := range []apiv1.NillableDuration{d, {}, apiv1.MustParseNillableDuration("Never")} {
		if b, err := json.Marshal(never); err != nil || string(b) != `"Never"` {
			t.Errorf("Never is written as %s (%v)", b, err)
		}
	}
}

func TestNillableDurationRefuses(t *testing.T) {
	for _, text := range []string{`"never"`, `"30d"`, `""`, `30`, `{}`} {
		var d apiv1.NillableDuration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s is read as %s", text, d)
		}
	}
}

func TestNillableDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := time.Duration(rapid.Int64().Draw(t, "nanoseconds"))
		b, err := json.Marshal(apiv1.NillableDuration{Duration: &want})
		if err != nil {
			t.Fatal(err)
		}
		var got apiv1.NillableDuration
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if *got.Duration != want || string(got.Raw) != string(b) {
			t.Errorf("%s came back as %s, raw %s", want, got, got.Raw)
		}
	})
}

// A limit that cannot be parsed allows nothing. It does not prevent the decoding of other NodePools.
func TestUnreadableLimits(t *testing.T) {
	var pools apiv1.NodePoolList
	text := `{"items": [{"spec": {"limits": {"cpu": "1e1.5", "memory": "10Gi", "nodes": 3}}}, {"spec": {"limits": null}}, {"spec": {}}]}`
	if err := json.Unmarshal([]byte(text), &pools); err != nil {
		t.Fatal(err)
	}
	limits := pools.Items[0].Spec.Limits
	for name, want := range map[corev1.ResourceName]string{"cpu": "0", "memory": "10Gi", "nodes": "3"} {
		if q, ok := limits[name]; !ok || q.String() != want {
			t.Errorf("%s is %s, %v, want %s", name, q.String(), ok, want)
		}
	}
	for _, p := range pools.Items[1:] {
		if p.Spec.Limits != nil {
			t.Errorf("limits are %v, want none", p.Spec.Limits)
		}
	}
	if err := json.Unmarshal([]byte(`["cpu"]`), &limits); err == nil {
		t.Error("a list is read as limits")
	}
}

// Every duration that the patterns of the CRDs allow can be decoded, however long it is. One object that cannot be
// decoded would prevent the decoding of all objects of its kind.
func TestLongDurations(t *testing.T) {
	list := `{"items": [
		{"metadata": {"name": "long"}, "spec": {
			"disruption": {"consolidateAfter": "99999999999h", "budgets": [{"nodes": "1", "schedule": "@daily", "duration": "99999999999h30m"}]},
			"template": {"spec": {"expireAfter": "99999999999999999999s", "terminationGracePeriod": "9223372036855s"}}}},
		{"metadata": {"name": "other"}, "spec": {"template": {"spec": {"terminationGracePeriod": "1h30m"}}}}]}`
	var pools apiv1.NodePoolList
	if err := json.Unmarshal([]byte(list), &pools); err != nil {
		t.Fatal(err)
	}
	long, other := pools.Items[0].Spec, pools.Items[1].Spec
	for field, got := range map[string]time.Duration{
		"consolidateAfter":       *long.Disruption.ConsolidateAfter.Duration,
		"duration":               long.Disruption.Budgets[0].Duration.Duration,
		"expireAfter":            *long.Template.Spec.ExpireAfter.Duration,
		"terminationGracePeriod": long.Template.Spec.TerminationGracePeriod.Duration,
	} {
		if got != apiv1.LongestDuration {
			t.Errorf("%s is %s, want the longest duration", field, got)
		}
	}
	if got := other.Template.Spec.TerminationGracePeriod.Duration; got != 90*time.Minute {
		t.Errorf("terminationGracePeriod of the other is %s", got)
	}
	// A claim gets the grace period of its pool, and the API server must accept the claim.
	b, err := json.Marshal(long.Template.Spec.TerminationGracePeriod)
	if err != nil || string(b) != `"2562047h0m0s"` {
		t.Errorf("the grace period is written as %s (%v)", b, err)
	}
	for _, text := range []string{`"30d"`, `""`, `"-"`, `"1h30"`, `90`, `{}`} {
		var d apiv1.Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s is read as %s", text, d)
		}
	}
}
