package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/local/state"
)

func TestGateValues(t *testing.T) {
	got := gateValues("CapacityBuffer=true, NodeRepair=false,NodeClassCEL=true,wrong,=true,Empty=")
	want := map[string]any{"capacityBuffer": true, "nodeRepair": false, "nodeClassCEL": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The controller serves the dashboard unless the cluster was made without it. Its address is printed as a line that scripts
// read.
func TestDashboard(t *testing.T) {
	ports := map[string]int{"karpenter-dashboard": 4711}
	for _, tt := range []struct{ setting, port, line string }{
		{"", "4711", "dashboard http://127.0.0.1:4711/\n"},
		{"true", "4711", "dashboard http://127.0.0.1:4711/\n"},
		{"false", "0", ""},
	} {
		var out strings.Builder
		c := &Cluster{out: &out, state: &state.State{Settings: state.Settings{Provider: "kwok", Dashboard: tt.setting}, Ports: ports}}
		if env := c.controller(c.state).env; !slices.Contains(env, "DASHBOARD_PORT="+tt.port) {
			t.Errorf("--dashboard=%s: environment %q, want port %s", tt.setting, env, tt.port)
		}
		if c.tellDashboard(); out.String() != tt.line {
			t.Errorf("--dashboard=%s: prints %q, want %q", tt.setting, out.String(), tt.line)
		}
	}
}
