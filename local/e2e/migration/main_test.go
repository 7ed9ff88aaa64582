package migration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/internal/awsemu/steer"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/state"
)

// patience bounds a failure; nothing is asserted about speed.
const patience = 3 * time.Minute

// leaseName is the lease of upstream's controllers and of ours.
const leaseName = "karpenter-leader-election"

// A place is the cluster of all tests. No controller of ours runs in it until
// a test starts one.
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
	root, err := os.MkdirTemp("", "karpenter-migration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(root)
	local, err := open(filepath.Join(root, "cluster"), "")
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

// open returns a handle to the cluster in dir, with a controller or without.
func open(dir, controller string) (*cluster.Cluster, error) {
	bin, err := filepath.Abs(*binaries)
	if err != nil {
		return nil, fmt.Errorf("find programs: %w", err)
	}
	if controller != "" {
		controller = filepath.Join(bin, controller)
	}
	return cluster.Open(cluster.Options{
		Dir: dir, Binary: filepath.Join(bin, "karpenter-local"), Controller: controller,
		Chart: "../../../charts/karpenter", Settings: state.Settings{NodesBoot: "1s"},
		DieWithParent: true, Out: os.Stdout,
	})
}

func look(local *cluster.Cluster) (*place, error) {
	config, err := local.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), api.AddToScheme(scheme))
	if err != nil {
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

// start runs our controller until stop is called or the test ends.
func (p *place) start(t *testing.T) (stop func()) {
	t.Helper()
	local, err := open(string(p.local.Dir()), cluster.ControllerName)
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

// end stops the controller as a cluster does, by SIGTERM, and returns when it has gone.
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
	p.poll(t, func() string {
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

// leaseHolder is who holds the lease of the leader; empty if nobody does.
func (p *place) leaseHolder(t *testing.T) string {
	t.Helper()
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: leaseName}
	if err := p.Get(context.WithoutCancel(t.Context()), key, &lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// put creates objects, and removes them, last first, when the test ends.
func (p *place) put(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := p.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
		t.Cleanup(func() { p.remove(t, object) })
	}
}

// remove deletes an object whatever finalizers it has: nobody may be there to take them off.
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

// poll asks until nothing is missing. It is for several things at once, or for what nobody can watch.
func (p *place) poll(t *testing.T, missing func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	last := "nothing seen"
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		last = missing()
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("%s (%v)\nthe controller's last words:\n%s", last, err, p.lastWords())
	}
}

// lastWords is the end of our controller's log.
func (p *place) lastWords() string {
	text := p.log()
	return text[max(0, len(text)-8000):]
}

func (p *place) log() string {
	text, err := os.ReadFile(p.local.Dir().Log(cluster.ControllerName))
	if err != nil {
		return ""
	}
	return string(text)
}

// kubectl runs the embedded kubectl.
func (p *place) kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return p.program(t, "karpenter-local", stdin, append([]string{"--dir", string(p.local.Dir()), "kubectl"}, args...)...)
}

// program runs one of ours against the cluster.
func (p *place) program(t *testing.T, name, stdin string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(*binaries, name), args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.local.Dir().Kubeconfig())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// cloud is how the real SDK reaches the emulated account.
func (p *place) cloud() aws.Config {
	return aws.Config{
		Region: cluster.Region, BaseEndpoint: aws.String(p.local.Emulator()),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

func (p *place) steer() steer.Client { return steer.Client{BaseURL: p.local.Emulator()} }

// calls are those that the emulator received after the one numbered since.
func (p *place) calls(t *testing.T, since int64) []steer.Call {
	t.Helper()
	calls, err := p.steer().Calls(context.WithoutCancel(t.Context()), since)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// now is the number of the emulator's newest call.
func (p *place) now(t *testing.T) int64 {
	t.Helper()
	calls := p.calls(t, 0)
	if len(calls) == 0 {
		return 0
	}
	return calls[len(calls)-1].Seq
}

// shell runs a script with a function kubectl in reach.
func (p *place) shell(t *testing.T, script string) (string, error) {
	t.Helper()
	bin, err := filepath.Abs(*binaries)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Env = append(os.Environ(), "KARPENTER_LOCAL="+filepath.Join(bin, "karpenter-local"), "CLUSTER="+string(p.local.Dir()))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
