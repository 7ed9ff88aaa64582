package v1_test

import (
	"encoding/json"
	"testing"
	"time"

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
