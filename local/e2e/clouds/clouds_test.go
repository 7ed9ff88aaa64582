package clouds

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

// patience bounds the wait for one condition. The tests do not check speed.
const patience = 4 * time.Minute

// here is the cluster of all tests, without a controller.
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
	r := rig.Rig{
		Name: "clouds", Binaries: *binaries, Chart: "../../../charts/karpenter", Logs: *logs, Patience: patience, Bare: true,
		Settings: state.Settings{NodesBoot: "1s"},
	}
	os.Exit(r.Run(func(_ context.Context, c *cluster.Cluster) (code int, err error) {
		if here, err = r.Place(c); err != nil {
			return 0, err
		}
		return m.Run(), nil
	}))
}

// run starts a command of karpenter with the rights of an administrator. It is killed when the test ends, or by the
// returned function.
func run(t *testing.T, args ...string) (kill func()) {
	t.Helper()
	aws, err := os.ReadFile(here.Cluster.Dir().AWSEnv())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(*binaries, "karpenter"), args...) //nolint:gosec,noctx // it outlives a call
	cmd.Env = append(append(os.Environ(), strings.Fields(string(aws))...),
		"KUBECONFIG="+here.Cluster.Dir().Kubeconfig(), "SYSTEM_NAMESPACE="+cluster.Namespace, "LEADER_ELECTION_NAMESPACE="+cluster.Namespace,
		"METRICS_PORT=0", "HEALTH_PROBE_PORT=0", "CLUSTER_NAME="+cluster.Name, "CLUSTER_ENDPOINT="+here.Cluster.Endpoint(),
		"INTERRUPTION_QUEUE="+cluster.Name, "DISABLE_LEADER_ELECTION=true")
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	kill = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(func() {
		kill()
		if text, err := os.ReadFile(file.Name()); t.Failed() && err == nil {
			lines := strings.Split(string(text), "\n")
			t.Logf("log of karpenter %s:\n%s", args, strings.Join(lines[max(0, len(lines)-25):], "\n"))
		}
	})
	return kill
}

const manifests = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: hollow}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: hollow}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: hollow}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5s}
`

func scale(t *testing.T, n int) {
	t.Helper()
	if out, err := here.Local(t, "", "kubectl", "scale", "deployment", "inflate", fmt.Sprint("--replicas=", n)); err != nil {
		t.Fatal(out)
	}
}

// await waits until n pods run, all on nodes of one NodePool.
func await(t *testing.T, n int, pool string) {
	t.Helper()
	here.Poll(t, func(ctx context.Context) string {
		running, pools := landed(ctx, t)
		if running == n && len(pools) == 1 && pools[pool] > 0 {
			return ""
		}
		return fmt.Sprintf("%d of %d pods run, nodes by NodePool: %v, want only %s", running, n, pools, pool)
	})
}

// landed returns how many pods run, and the nodes of each NodePool.
func landed(ctx context.Context, t *testing.T) (running int, pools map[string]int) {
	t.Helper()
	var pods corev1.PodList
	var nodes corev1.NodeList
	if err := here.List(ctx, &pods, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	if err := here.List(ctx, &nodes, client.HasLabels{apiv1.NodePoolLabelKey}); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() {
			running++
		}
	}
	pools = map[string]int{}
	for i := range nodes.Items {
		pools[nodes.Items[i].Labels[apiv1.NodePoolLabelKey]]++
	}
	return running, pools
}
