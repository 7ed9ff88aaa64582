package examples

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
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/internal/awsemu/steer"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/state"
)

// patience bounds a failure; nothing is asserted about speed.
const patience = 4 * time.Minute

// gates are those that some example needs.
const gates = "NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true"

// A place is the cluster of all examples.
type place struct {
	client.WithWatch
	local *cluster.Cluster
}

var here *place

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

// run starts the cluster, runs the tests and takes the cluster down.
func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.MkdirTemp("", "karpenter-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	local, err := open(root)
	if err == nil {
		defer takeDown(local)
		if err = local.Up(ctx); err == nil {
			here, err = look(local)
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
		Dir:    filepath.Join(root, "cluster"),
		Binary: filepath.Join(bin, "karpenter-local"), Controller: filepath.Join(bin, "karpenter"),
		Chart: "../../../charts/karpenter", Settings: state.Settings{NodesBoot: "1s", FeatureGates: gates},
		DieWithParent: true, Out: os.Stdout,
	})
}

func look(local *cluster.Cluster) (*place, error) {
	config, err := local.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	kube, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	return &place{WithWatch: kube, local: local}, err
}

func takeDown(local *cluster.Cluster) {
	if *logs != "" {
		if err := os.CopyFS(*logs, os.DirFS(filepath.Join(string(local.Dir()), "logs"))); err != nil {
			fmt.Fprintln(os.Stderr, "keep logs:", err)
		}
	}
	if err := local.Down(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "take the cluster down:", err)
	}
}

// poll asks until nothing is missing.
func (p *place) poll(t *testing.T, missing func(context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	last := "nothing seen"
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = missing(ctx)
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("%s (%v)\nthe controller's last words:\n%s", last, err, p.lastWords())
	}
}

// lastWords is the end of the controller's log.
func (p *place) lastWords() string {
	text, err := os.ReadFile(p.local.Dir().Log(cluster.ControllerName))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-6000):])
}

// cloud is how the real SDK reaches the emulated account.
func (p *place) cloud() aws.Config {
	return aws.Config{
		Region: cluster.Region, BaseEndpoint: aws.String(p.local.Emulator()),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

func (p *place) steer() steer.Client { return steer.Client{BaseURL: p.local.Emulator()} }
