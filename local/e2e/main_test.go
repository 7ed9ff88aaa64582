package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

// shared is the cluster of all tests; nil in short mode.
var shared *Env

var (
	binaries = flag.String("binaries", "../../bin", "where karpenter-local and karpenter are")
	remote   = flag.Bool("remote", false, "run AWS in another process, behind a socket")
	keep     = flag.Bool("keep-logs", false, "keep the logs of the cluster, and say where")
)

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
	os.Exit(run(m))
}

// run starts the cluster, runs the tests and stops the cluster.
func run(m *testing.M) int {
	r, log, err := audited(rigOf("e2e"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(filepath.Dir(log.log))
	return r.Run(func(ctx context.Context, c *cluster.Cluster) (code int, err error) {
		if shared, err = newEnv(r, c); err != nil {
			return 0, err
		}
		if code := m.Run(); code != 0 || flag.Lookup("test.run").Value.String() != "" {
			return code, nil
		}
		return 0, log.check(ctx, shared)
	})
}

func rigOf(name string) rig.Rig {
	r := rig.Rig{
		Name: name, Binaries: *binaries, Chart: "../../charts/karpenter", Settings: state.Settings{NodesBoot: "1s"},
		Patience: patience,
	}
	if *remote {
		r.Settings.Provider, r.Settings.Remote = "remote", "aws"
	}
	if *keep {
		r.Logs = filepath.Join(os.TempDir(), fmt.Sprintf("karpenter-%s-logs-%d", name, os.Getpid()))
	}
	return r
}
