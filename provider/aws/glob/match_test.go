package glob

import "testing"

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"m7i.*", "m7i.large", true}, {"m7i.*", "m7i-flex.large", false}, {"*.large", "m5.large", true}, {"*.large", "m5.xlarge", false},
		{"m?.large", "m5.large", true}, {"m?.large", "m.large", false}, {"", "", true}, {"", "x", false}, {"*", "", true},
		{"a*b*c", "axxbyybzc", true}, {"a*b*c", "axxbyybz", false}, {"m5.large", "m5.large", true}, {"m5.large", "m5.large2", false},
	} {
		if got := Match(tt.pattern, tt.text); got != tt.want {
			t.Errorf("%q against %q: %v", tt.pattern, tt.text, got)
		}
	}
}
