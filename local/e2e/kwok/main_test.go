package kwok

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/state"
)

// shared is the API of the cluster of all tests, and local the cluster itself.
var (
	shared client.WithWatch
	local  *cluster.Cluster
)

var (
	binaries = flag.String("binaries", "../../../bin", "where karpenter-local and karpenter are")
	logs     = flag.String("logs", "", "directory to keep the logs of the cluster in")
)

// gates are all that upstream has.
const gates = "NodeRepair=true,ReservedCapacity=true,SpotToSpotConsolidation=true,NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true"

// sideBySide is how many tests run at a time: they mostly wait.
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

// run starts the cluster, runs the tests and takes the cluster down.
func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.MkdirTemp("", "karpenter-kwok-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	if err = giveTypes(root); err == nil {
		local, err = open(root)
	}
	if err == nil {
		defer takeDown(local)
		if err = local.Up(ctx); err == nil {
			shared, err = furnish(ctx, local)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func open(root string) (*cluster.Cluster, error) {
	bin, err := filepath.Abs(*binaries)
	if err != nil {
		return nil, fmt.Errorf("find programs: %w", err)
	}
	return cluster.Open(cluster.Options{
		Dir:           filepath.Join(root, "cluster"),
		Binary:        filepath.Join(bin, "karpenter-local"),
		Controller:    filepath.Join(bin, "karpenter"),
		Chart:         "../../../charts/karpenter",
		Settings:      state.Settings{Provider: "kwok", FeatureGates: gates},
		DieWithParent: true,
		Out:           os.Stdout,
	})
}

// furnish makes the node class that all tests use.
func furnish(ctx context.Context, c *cluster.Cluster) (client.WithWatch, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	kube, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	class := &kwokv1alpha1.KWOKNodeClass{}
	class.Name = "default"
	return kube, kube.Create(ctx, class)
}

func takeDown(c *cluster.Cluster) {
	if *logs != "" {
		if err := os.CopyFS(*logs, os.DirFS(filepath.Join(string(c.Dir()), "logs"))); err != nil {
			fmt.Fprintln(os.Stderr, "keep logs:", err)
		}
	}
	if err := c.Down(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "take the cluster down:", err)
	}
}
