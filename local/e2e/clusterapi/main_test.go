package clusterapi

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

var (
	binaries = flag.String("binaries", "../../../bin", "where karpenter-local, karpenter and the CRDs of Cluster API are")
	logs     = flag.String("logs", "", "directory to keep the logs of the cluster in")
	count    = flag.Int("machines", 0, "how many machines TestScale launches; 0 means 500 with KARPENTER_LONG=1, otherwise none")
)

// place is the cluster of all tests. Those that restart the controller run one after another.
var place *rig.Place

// newScene opens a scene whose templates are MachineDeployments.
func newScene(t *testing.T, name string, edit ...func(*apiv1.NodePool)) *machines.Scene {
	t.Helper()
	s := &machines.Scene{T: t, Name: name, Workload: place, Manager: place, Sizes: sizes}
	s.Open(edit...)
	return s
}

// sizes are the CPUs of the templates.
var sizes = map[string]int64{"large": 32, "medium": 8, "small": 4}

// sideBySide is the number of tests that run at the same time. They mostly wait.
const sideBySide = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	if testing.Short() {
		fmt.Println("short: no cluster, no end-to-end tests")
		return
	}
	// Without this setting, the only replica would end if the machine is too busy to renew its lease.
	if err := os.Setenv("DISABLE_LEADER_ELECTION", "true"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := rig.Rig{
		Name: "clusterapi", Binaries: *binaries, Chart: "../../../charts/karpenter", Logs: *logs, Patience: 6 * time.Minute,
		Settings: state.Settings{Provider: "clusterapi", NodesBoot: "1s", FeatureGates: "StaticCapacity=true"},
	}
	os.Exit(r.Run(func(_ context.Context, c *cluster.Cluster) (code int, err error) {
		if place, err = r.Place(c); err != nil {
			return 0, err
		}
		return m.Run(), nil
	}))
}

// long skips a test unless KARPENTER_LONG is set.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1")
	}
}
