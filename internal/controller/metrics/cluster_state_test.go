package metrics

import (
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/internal/observe"
)

func TestUnsyncedTime(t *testing.T) {
	w := newWorld(t)
	known := &cluster{observe.New(w.clock), false}
	c := &ClusterState{Cluster: known, Clock: w.clock, Metrics: w.metrics.ClusterState}
	const synced, unsynced = "karpenter_cluster_state_synced", "karpenter_cluster_state_unsynced_time_seconds"
	w.run(c, "", "")
	w.clock.Step(7 * time.Second)
	w.run(c, "", "")
	w.expect(synced+" 0\n"+unsynced+" 7", synced, unsynced)
	known.synced = true
	w.run(c, "", "")
	w.expect(synced+" 1\n"+unsynced+" 0", synced, unsynced)
}
