package settings

import "testing"

// FuzzTexts reads arbitrary feature gates and scheduler configurations. Reading them never
// panics, and the same text always gives the same gates.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{
		"", "NodeRepair=true,NodeOverlay=false", "NodeRepair", "=", ",,", "NodeRepair=true,NodeRepair=false", "podTopologySpread: {defaultConstraints: null}",
		"podTopologySpread: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}", "[", "a: &a [*a]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		gates, _, err := ParseFeatureGates(text)
		if again, _, againErr := ParseFeatureGates(text); gates != again || (err == nil) != (againErr == nil) {
			t.Errorf("gates are %+v (%v), then %+v (%v)", gates, err, again, againErr)
		}
		_, _ = ReadSchedulerConfig(text)
	})
}
