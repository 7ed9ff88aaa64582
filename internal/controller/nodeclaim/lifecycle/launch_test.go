package lifecycle

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Labels of the claim take precedence, except well-known ones that the instance has.
func TestMergeLabels(t *testing.T) {
	claim := map[string]string{"team": "a", "zone": "old", "arch": "arm64"}
	instance := map[string]string{"team": "b", "zone": "new", "rack": "7"}
	got := mergeLabels(claim, instance, sets.New("zone", "arch"))
	if want := map[string]string{"team": "a", "zone": "new", "arch": "arm64", "rack": "7"}; !maps.Equal(got, want) {
		t.Errorf("labels are %v, want %v", got, want)
	}
}
