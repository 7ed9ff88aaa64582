package migration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

// patience bounds the wait for one condition. The tests do not check speed.
const patience = 3 * time.Minute

// leaseName is the name of the Lease of both upstream's controller and this project's.
const leaseName = "karpenter-leader-election"

// A place is a cluster in which this project's controller runs only after a test has started it.
type place struct{ *rig.Place }

// here is the cluster of all tests.
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

func run(m *testing.M) int {
	r := rigOf()
	r.Bare = true
	return r.Run(func(_ context.Context, c *cluster.Cluster) (int, error) {
		p, err := r.Place(c, apiextensionsv1.AddToScheme)
		if err != nil {
			return 0, err
		}
		here = &place{p}
		return m.Run(), nil
	})
}

func rigOf() rig.Rig {
	return rig.Rig{
		Name: "migration", Binaries: *binaries, Chart: "../../../charts/karpenter", Logs: *logs, Patience: patience,
		Settings: state.Settings{NodesBoot: "1s"},
	}
}

// start runs this project's controller until stop is called or the test ends.
func (p *place) start(t *testing.T) (stop func()) { return p.startWith(t, nil) }

// startWith is like start, with values for the chart.
func (p *place) startWith(t *testing.T, values map[string]any) (stop func()) {
	t.Helper()
	r := rigOf()
	r.Values = values
	local, err := r.Open(string(p.Cluster.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := local.Up(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	running := true
	stop = func() {
		if !running {
			return
		}
		running = false
		p.end(t, local)
	}
	t.Cleanup(stop)
	return stop
}

// end stops the controller by SIGTERM, as a kubelet does, and returns after its end.
func (p *place) end(t *testing.T, local *cluster.Cluster) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	status, err := local.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range status.Parts {
		if part.Name == cluster.ControllerName && part.Running {
			if err := syscall.Kill(part.PID, syscall.SIGTERM); err != nil {
				t.Fatalf("stop the controller: %v", err)
			}
		}
	}
	p.Poll(t, func(context.Context) string {
		status, err := local.Status(ctx)
		if err != nil {
			return err.Error()
		}
		for _, part := range status.Parts {
			if part.Name == cluster.ControllerName && part.Running {
				return "the controller still runs"
			}
		}
		return ""
	})
	if holder := p.leaseHolder(t); holder != "" {
		t.Errorf("the controller ended and still holds the lease, as %q", holder)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaseName, Namespace: cluster.Namespace}}
	if err := p.Delete(ctx, lease); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// leaseHolder returns the holder of the leader's lease, empty if there is none.
func (p *place) leaseHolder(t *testing.T) string {
	t.Helper()
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: leaseName}
	if err := p.Get(context.WithoutCancel(t.Context()), key, &lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// put creates objects, and deletes them in reverse order when the test ends.
func (p *place) put(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := p.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
		t.Cleanup(func() { p.remove(t, object) })
	}
}

// remove deletes an object and its finalizers, because the controller that would remove them may not run.
func (p *place) remove(t *testing.T, object client.Object) {
	ctx := context.WithoutCancel(t.Context())
	err := p.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground), client.GracePeriodSeconds(0))
	if err == nil {
		err = p.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	}
	if client.IgnoreNotFound(err) != nil {
		t.Errorf("remove %T %s: %v", object, object.GetName(), err)
	}
}

// kubectl runs the embedded kubectl.
func (p *place) kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return p.Local(t, stdin, append([]string{"kubectl"}, args...)...)
}

// calls returns the calls that the emulator received after the one with the number since.
func (p *place) calls(t *testing.T, since int64) []control.Call {
	t.Helper()
	calls, err := p.Steer().Calls(context.WithoutCancel(t.Context()), since)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// now returns the number of the emulator's last call.
func (p *place) now(t *testing.T) int64 {
	t.Helper()
	calls := p.calls(t, 0)
	if len(calls) == 0 {
		return 0
	}
	return calls[len(calls)-1].Seq
}

// shell runs a script in which kubectl is defined as a function.
func (p *place) shell(t *testing.T, script string) (string, error) {
	t.Helper()
	bin, err := filepath.Abs(*binaries)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Env = append(os.Environ(), "KARPENTER_LOCAL="+filepath.Join(bin, "karpenter-local"), "CLUSTER="+string(p.Cluster.Dir()))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
