package management

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

// patience bounds the wait for one condition. The tests do not check speed.
const patience = 10 * time.Minute

var (
	binaries = flag.String("binaries", "../../../bin", "where karpenter-local, karpenter and the CRDs of Cluster API are")
	logs     = flag.String("logs", "", "directory to keep the logs of the clusters in")
)

// workload has the controller, the nodes and the pods. manager is the management cluster.
var workload, manager *rig.Place

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("short: no cluster, no end-to-end tests")
		return
	}
	if err := os.Setenv("DISABLE_LEADER_ELECTION", "true"); err != nil { // see package clusterapi
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "karpenter-management-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := run(m, dir)
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// run starts the workload cluster without the controller, then the management cluster whose machines join it, and then the
// controller.
func run(m *testing.M, dir string) int {
	credentials := filepath.Join(dir, "karpenter.kubeconfig")
	common := rig.Rig{Binaries: *binaries, Chart: "../../../charts/karpenter", Patience: patience}
	of := common
	of.Name, of.Settings, of.Management = "workload", state.Settings{Provider: "aws,clusterapi,kwok", NodesBoot: "1s"}, credentials
	if *logs != "" {
		of.Logs = filepath.Join(*logs, "workload")
	}
	bare := of
	bare.Bare = true
	return bare.Run(func(ctx context.Context, c *cluster.Cluster) (code int, err error) {
		above := common
		above.Name, above.Settings = "management", state.Settings{Provider: "clusterapi", NodesBoot: "1s"}
		above.Workload, above.Bare = c.Dir().Kubeconfig(), true
		if *logs != "" {
			above.Logs = filepath.Join(*logs, "management")
		}
		b, err := above.Open(filepath.Join(dir, "cluster"))
		if err != nil {
			return 0, err
		}
		defer above.TakeDown(b)
		if err := b.Up(ctx); err != nil {
			return 0, err
		}
		if manager, err = above.Place(b); err != nil {
			return 0, err
		}
		if err := grant(ctx, credentials); err != nil {
			return 0, err
		}
		full, err := of.Open(string(c.Dir()))
		if err != nil {
			return 0, err
		}
		if err := full.Up(ctx); err != nil {
			return 0, err
		}
		if workload, err = of.Place(full); err != nil {
			return 0, err
		}
		return m.Run(), nil
	})
}
