package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGateValues(t *testing.T) {
	got := gateValues("CapacityBuffer=true, NodeRepair=false,NodeClassCEL=true,wrong,=true,Empty=")
	want := map[string]any{"capacityBuffer": true, "nodeRepair": false, "nodeClassCEL": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
