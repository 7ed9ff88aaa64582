package examples

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

// patience bounds the wait for one condition. The tests do not check speed.
const patience = 4 * time.Minute

// gates are the feature gates that some examples need.
const gates = "NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true"

// here is the cluster of all examples.
var here *place

// A place is a cluster that examples are applied to.
type place struct{ *rig.Place }

var (
	binaries = flag.String("binaries", "../../../bin", "where karpenter-local and karpenter are")
	logs     = flag.String("logs", "", "directory to keep the logs of the cluster in")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("short: no cluster, no end-to-end tests")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	r := rig.Rig{
		Name: "examples", Binaries: *binaries, Chart: "../../../charts/karpenter", Logs: *logs, Patience: patience,
		Settings: state.Settings{NodesBoot: "1s", FeatureGates: gates},
	}
	return r.Run(func(_ context.Context, c *cluster.Cluster) (int, error) {
		p, err := r.Place(c)
		if err != nil {
			return 0, err
		}
		here = &place{p}
		return m.Run(), nil
	})
}
