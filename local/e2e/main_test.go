package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/state"
)

// shared is the cluster of all tests; nil in short mode.
var shared *Env

var (
	binaries = flag.String("binaries", "../../bin", "where karpenter-local and karpenter are")
	keep     = flag.Bool("keep-logs", false, "keep the logs of the cluster, and say where")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("short: no cluster, no end-to-end tests")
		return
	}
	os.Exit(run(m))
}

// run starts the cluster, runs the tests and takes the cluster down.
func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.MkdirTemp("", "karpenter-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	c, err := start(ctx, root)
	if c != nil {
		defer takeDown(c, root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if shared, err = newEnv(c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// start brings a cluster up below root. The cluster is returned with the error
// too, so that what did start is stopped.
func start(ctx context.Context, root string) (*cluster.Cluster, error) {
	bin, err := filepath.Abs(*binaries)
	if err != nil {
		return nil, fmt.Errorf("find programs: %w", err)
	}
	c, err := cluster.Open(cluster.Options{
		Dir:           filepath.Join(root, "cluster"),
		Binary:        filepath.Join(bin, "karpenter-local"),
		Controller:    filepath.Join(bin, "karpenter"),
		Chart:         "../../charts/karpenter",
		Settings:      state.Settings{NodesBoot: "1s"},
		DieWithParent: true,
		Out:           os.Stdout,
	})
	if err != nil {
		return nil, err
	}
	return c, c.Up(ctx)
}

func takeDown(c *cluster.Cluster, root string) {
	if *keep {
		logs := filepath.Join(os.TempDir(), filepath.Base(root)+"-logs")
		if err := os.CopyFS(logs, os.DirFS(filepath.Join(string(c.Dir()), "logs"))); err != nil {
			fmt.Fprintln(os.Stderr, "keep logs:", err)
		}
		fmt.Println("logs are in", logs)
	}
	if err := c.Down(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "take the cluster down:", err)
	}
}
