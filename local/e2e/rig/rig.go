// Package rig starts the cluster that the end-to-end tests of one package share, by the same code as karpenter-local
// up, and stops it after the tests. The parts of the cluster end even if the test process crashes.
package rig

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/state"
)

// A Rig describes the cluster that tests need.
type Rig struct {
	// Name is a prefix of the name of the cluster's temporary directory.
	Name string
	// Binaries is the directory of karpenter-local and karpenter. Chart is the directory of the Helm chart with the
	// rights of the controller.
	Binaries, Chart string
	Settings        state.Settings
	// Scheduler is the path of another kube-scheduler, and Arguments are more arguments of parts, by part; see cluster.Options.
	Scheduler string
	Arguments map[string][]string
	// Values are values of the chart for the controller; see cluster.Options.
	Values map[string]any
	// Management and Workload are the kubeconfigs of other clusters of Cluster API; see cluster.Options.
	Management, Workload string
	// Bare is true if the controller is not started, because another controller runs or because a test starts it.
	Bare bool
	// Patience bounds each wait of a Place. It is long, because the tests do not check speed.
	Patience time.Duration
	// Logs is the directory to which the logs of the cluster are copied. If it is empty, they are not kept.
	Logs string
	// Prepare, if not nil, is called with the cluster's directory before anything starts.
	Prepare func(dir string) error
}

// Run starts the cluster, calls tests with it, and stops it. It returns the result of tests, for os.Exit. On an error,
// it prints the error and returns 1.
func (r Rig) Run(tests func(context.Context, *cluster.Cluster) (int, error)) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "karpenter-"+r.Name+"-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	code, err := r.run(ctx, dir, tests)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func (r Rig) run(ctx context.Context, dir string, tests func(context.Context, *cluster.Cluster) (int, error)) (int, error) {
	if r.Prepare != nil {
		if err := r.Prepare(dir); err != nil {
			return 0, err
		}
	}
	n := &nurse{rig: r, dir: filepath.Join(dir, "cluster")}
	c, err := r.open(n.dir, n.ended)
	if err != nil {
		return 0, err
	}
	defer r.TakeDown(c)
	defer n.leave()
	if err := c.Up(ctx); err != nil {
		return 0, err
	}
	return tests(ctx, c)
}

// Open returns the cluster with the directory dir, without starting it.
func (r Rig) Open(dir string) (*cluster.Cluster, error) { return r.open(dir, nil) }

// open is Open with a function that is called when a part ends.
func (r Rig) open(dir string, onEnd func(part string, how error)) (*cluster.Cluster, error) {
	bin, err := filepath.Abs(r.Binaries)
	if err != nil {
		return nil, fmt.Errorf("find programs: %w", err)
	}
	controller := filepath.Join(bin, "karpenter")
	if r.Bare {
		controller = ""
	}
	return cluster.Open(cluster.Options{
		Dir:           dir,
		Binary:        filepath.Join(bin, "karpenter-local"),
		Controller:    controller,
		Chart:         r.Chart,
		ClusterAPI:    filepath.Join(bin, "cluster-api"),
		Scheduler:     r.Scheduler,
		Arguments:     r.Arguments,
		Values:        r.Values,
		Management:    r.Management,
		Workload:      r.Workload,
		Settings:      r.Settings,
		DieWithParent: true,
		OnEnd:         onEnd,
		Out:           os.Stdout,
	})
}

// TakeDown stops the cluster, even if only some of its parts run.
func (r Rig) TakeDown(c *cluster.Cluster) {
	if r.Logs != "" {
		if err := os.CopyFS(r.Logs, os.DirFS(filepath.Join(string(c.Dir()), "logs"))); err != nil {
			fmt.Fprintln(os.Stderr, "keep logs:", err)
		}
		fmt.Println("logs are in", r.Logs)
	}
	if err := c.Down(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "take the cluster down:", err)
	}
}
