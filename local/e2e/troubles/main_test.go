package troubles

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
const patience = 2 * time.Minute

// here is the cluster of all troubles. Each trouble has the cluster to itself.
var here *rig.Place

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
		Name: "troubles", Binaries: *binaries, Chart: "../../../charts/karpenter", Logs: *logs, Patience: patience,
		Settings: state.Settings{NodesBoot: "1s"},
	}
	return r.Run(func(_ context.Context, c *cluster.Cluster) (code int, err error) {
		if here, err = r.Place(c); err != nil {
			return 0, err
		}
		return m.Run(), nil
	})
}
