package settings

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A controller whose flags are restored from the published ones has the same settings. The environment of the command has
// no effect.
func TestPublishedSettingsAreRestored(t *testing.T) {
	given := map[string]string{
		"enforcement-mode": "Approve", "max-node-cpu": "64", "feature-gates": "NodeRepair=true,StaticCapacity=true", "pause-launches": "true",
		"min-values-policy": "BestEffort", "node-overhead-cost": "0.25", "provider": "kwok", "batch-idle-duration": "2s",
		"scheduler-config": `{"podTopologySpread":{"defaultConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway"}]}}`,
	}
	first, warnings, err := Restore(given)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	t.Setenv("ENFORCEMENT_MODE", "DryRun")
	values, err := DecodePublished(first.Published())
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(values)); !slices.Equal(names, Decisive()) {
		t.Errorf("published are %v, want %v", names, Decisive())
	}
	second, warnings, err := Restore(values)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if second.Mode != "Approve" || second.MaxNodeCPU != 64_000 || !second.FeatureGates.NodeRepair || !second.FeatureGates.StaticCapacity ||
		!second.PauseLaunches || second.MinValuesPolicy != MinValuesPolicyBestEffort || second.NodeOverheadCost != 0.25 ||
		second.Provider != ProviderKWOK || second.BatchIdleDuration != first.BatchIdleDuration ||
		len(second.Scheduler.PodTopologySpread.DefaultConstraints) != 1 {
		t.Errorf("restored %+v", second)
	}
	if first.Published() != second.Published() {
		t.Errorf("published again %s, want %s", second.Published(), first.Published())
	}
}

// Flags of a newer controller are named. Values that cannot be parsed or are invalid are errors, and the other values count.
func TestRestoreMistakes(t *testing.T) {
	s, warnings, err := Restore(map[string]string{"from-the-future": "1", "max-node-cpu": "many", "enforcement-mode": "DryRun", "feature-gates": "Nope=true"})
	if len(warnings) != 1 || !strings.Contains(warnings[0], "from-the-future") {
		t.Errorf("warnings %q", warnings)
	}
	if err == nil || !strings.Contains(err.Error(), "--max-node-cpu") || !strings.Contains(err.Error(), "feature-gates") || s.Mode != "DryRun" {
		t.Errorf("mode %s, error %v", s.Mode, err)
	}
}

// An invalid value is an error as in the controller. The default takes its place.
func TestRestoreInvalid(t *testing.T) {
	values := map[string]string{
		"new-node-headroom": "5", "enforcement-mode": "dryrun", "preference-policy": "respect", "max-launches-per-minute": "-1", "max-node-cpu": "1E",
		"legacy-node-repair": "true", "feature-gates": "TerminateFirstRepair=true", "min-values-policy": "BestEffort",
		"scheduler-config": `{"podTopologySpread":{"defaultConstraints":[{"maxSkew":0,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]}}`,
	}
	s, warnings, err := Restore(values)
	if err == nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	for name := range values {
		if at := strings.Contains(err.Error(), "--"+name+" ("); at == (name == "feature-gates" || name == "min-values-policy") {
			t.Errorf("%s in the error: %t\n%v", name, at, err)
		}
	}
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Value.String() != f.DefValue && f.Name != "feature-gates" && f.Name != "min-values-policy" {
			t.Errorf("--%s is %s, want the default %s", f.Name, f.Value, f.DefValue)
		}
	})
	if s.PreferencePolicy != PreferencePolicyRespect || s.MinValuesPolicy != MinValuesPolicyBestEffort || !s.FeatureGates.TerminateFirstRepair ||
		len(s.Scheduler.PodTopologySpread.DefaultConstraints) > 0 {
		t.Errorf("restored %+v", s)
	}
}
