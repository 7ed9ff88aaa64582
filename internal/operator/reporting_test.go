package operator

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	testclock "k8s.io/utils/clock/testing"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// noCloud is a provider without node classes. The test calls no other method.
type noCloud struct{ cloud.Provider }

func (noCloud) Facts() cloud.Facts { return cloud.Facts{} }

// Without observability of the cluster state, only the metrics of single objects and conditions are left out.
func TestReportingWithoutObservability(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		clock, reg := testclock.NewFakeClock(time.Unix(0, 0)), prometheus.NewRegistry()
		b := base{
			Env: Env{Clock: clock, Metrics: reg}, settings: &settings.Settings{DisableClusterStateObservability: disabled},
			metrics: telemetry.NewMetrics(reg, nil), cluster: observe.New(clock), provider: noCloud{},
		}
		list, err := b.reporting()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range list {
			names = append(names, c.Name())
		}
		want := []string{"metrics.clusterstate"}
		if !disabled {
			want = append(want, "metrics.pod", "metrics.node", "metrics.nodepool", "status.nodeclaim", "status.nodepool", "status.node")
		}
		if !slices.Equal(names, want) {
			t.Errorf("disabled %v: controllers %v, want %v", disabled, names, want)
		}
	}
}
