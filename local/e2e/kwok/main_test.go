package kwok

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-go/karpenter/hack/upstream"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

// shared is a client of the cluster of all tests, and local the cluster itself.
var (
	shared client.WithWatch
	local  *cluster.Cluster
)

var (
	binaries = flag.String("binaries", "../../../bin", "where karpenter-local and karpenter are")
	logs     = flag.String("logs", "", "directory to keep the logs of the cluster in")
)

// gates are all feature gates of upstream.
const gates = "NodeRepair=true,ReservedCapacity=true,SpotToSpotConsolidation=true,NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true," +
	"TerminateFirstDrift=true,TerminateFirstRepair=true,PodDeletionCostManagement=true"

// sideBySide is the number of tests that run at the same time. They mostly wait.
const sideBySide = "12"

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

// unlikeUpstream returns how the labels of the controller's metrics, and the values of labels, differ from upstream. It is
// called after all tests. Tests of hack/docs compare the names and types of metrics.
func unlikeUpstream() string {
	text, err := scrape()
	if err != nil {
		return err.Error()
	}
	breaches, seen, err := upstream.Breaches(upstream.Series(text))
	if err != nil {
		return err.Error()
	}
	fmt.Printf("the controller exposes %d metrics of upstream\n", seen)
	return strings.Join(breaches, "\n")
}

// scrape returns the metrics of the controller.
func scrape() (string, error) {
	s, err := local.Dir().Load()
	if err != nil {
		return "", err
	}
	response, err := http.Get("http://" + s.Address("karpenter-metrics") + "/metrics")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// run starts the cluster, creates the node class that all tests use, and runs the tests.
func run(m *testing.M) int {
	return rig.Rig{
		Name: "kwok", Binaries: *binaries, Chart: "../../../charts/karpenter", Logs: *logs, Prepare: giveTypes,
		Settings: state.Settings{Provider: "kwok", FeatureGates: gates},
	}.Run(func(ctx context.Context, c *cluster.Cluster) (code int, err error) {
		local = c
		if shared, err = rig.Client(c); err != nil {
			return 0, err
		}
		class := &kwokv1alpha1.KWOKNodeClass{}
		class.Name = "default"
		if err := shared.Create(ctx, class); err != nil {
			return 0, err
		}
		code = m.Run()
		if wrong := unlikeUpstream(); code == 0 && wrong != "" {
			return 1, errors.New(wrong)
		}
		return code, nil
	})
}
