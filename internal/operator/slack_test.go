package operator

import "testing"

// Plans leave slack on servers whose scheduler cannot be told where pods were planned to go, and on no others.
func TestSlackFor(t *testing.T) {
	for _, tt := range []struct {
		major, minor string
		want         float64
		bad          bool
	}{
		{major: "1", minor: "29", want: unsteered},
		{major: "1", minor: "34+", want: unsteered},
		{major: "1", minor: "35"},
		{major: "1", minor: "36+"},
		{major: "1", minor: "", bad: true},
		{major: "2", minor: "0", bad: true},
	} {
		got, err := slackFor(tt.major, tt.minor)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("version %s.%s: slack %g, error %v", tt.major, tt.minor, got, err)
		}
	}
}
