package failover

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
const patience = 8 * time.Minute

// here is the cluster of all tests, without a controller.
var here *rig.Place

var (
	binaries = flag.String("binaries", "../../../bin", "where karpenter-local and karpenter are")
	logs     = flag.String("logs", "", "directory to keep the logs of the cluster in")
	churn    = flag.Duration("churn", 30*time.Minute, "how long TestChurn keeps the controllers busy")
	age      = flag.Duration("age", 2*time.Minute, "age of the snapshot that TestStateRestored restores, at least")
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
	return rigOf().Run(func(_ context.Context, c *cluster.Cluster) (code int, err error) {
		if here, err = rigOf().Place(c); err != nil {
			return 0, err
		}
		return m.Run(), nil
	})
}

func rigOf() rig.Rig {
	return rig.Rig{
		Name: "failover", Binaries: *binaries, Chart: "../../../charts/karpenter", Logs: *logs, Patience: patience, Bare: true,
		Settings: state.Settings{NodesBoot: "1s"},
		Values:   map[string]any{"controller": map[string]any{"metrics": map[string]any{"authentication": true, "tls": map[string]any{"enabled": true}}}},
	}
}

// long skips a test unless KARPENTER_LONG is set.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: runs with KARPENTER_LONG=1")
	}
}
