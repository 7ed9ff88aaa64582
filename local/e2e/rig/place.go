package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/watching"
)

// A Place is a running cluster with helpers for tests. If a condition is not met within the rig's Patience, a wait
// fails the test. Waits can also be used during clean-up.
type Place struct {
	client.WithWatch
	Cluster *cluster.Cluster
	rig     Rig
}

// Place returns the helpers for the running cluster c. more adds further kinds to the scheme of its client, see Client.
func (r Rig) Place(c *cluster.Cluster, more ...func(*runtime.Scheme) error) (*Place, error) {
	kube, err := Client(c, more...)
	if err != nil {
		return nil, err
	}
	return &Place{WithWatch: kube, Cluster: c, rig: r}, nil
}

// Client returns a client of c for the kinds of Kubernetes and Karpenter, and those that more adds to its scheme.
func Client(c *cluster.Cluster, more ...func(*runtime.Scheme) error) (client.WithWatch, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range append(more, clientgoscheme.AddToScheme, api.AddToScheme) {
		err = errors.Join(err, add(scheme))
	}
	if err != nil {
		return nil, fmt.Errorf("know kinds: %w", err)
	}
	kube, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return kube, nil
}

// Await waits until done returns "". It reads list once, and again whenever an object of its kind changes. done checks
// list and returns what is missing, which is also the message of a failure.
func (p *Place) Await(t *testing.T, list client.ObjectList, done func() string, opts ...client.ListOption) {
	t.Helper()
	ctx, cancel := p.patience(t)
	defer cancel()
	missing := "nothing seen"
	err := watching.Until(ctx, p, list, func() bool {
		missing = done()
		return missing == ""
	}, opts...)
	if err != nil {
		t.Fatalf("%s (%v)\n%s", missing, err, p.lastWords())
	}
}

// Poll is like Await, for conditions on several kinds of objects, or on state without a watch. It calls done every 200 ms.
func (p *Place) Poll(t *testing.T, done func(context.Context) string) {
	t.Helper()
	ctx, cancel := p.patience(t)
	defer cancel()
	missing := "nothing seen"
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		missing = done(ctx)
		return missing == "", nil
	})
	if err != nil {
		t.Fatalf("%s (%v)\n%s", missing, err, p.lastWords())
	}
}

func (p *Place) patience(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), p.rig.Patience)
}

// Log returns the log of the controller. It is empty if the controller was never started.
func (p *Place) Log() string {
	text, err := os.ReadFile(p.Cluster.Dir().Log(cluster.ControllerName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(text)
}

// lastWords returns the last lines of Log and the last events of the controller.
func (p *Place) lastWords() string {
	lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
	return "the controller's last words:\n" + strings.Join(lines[max(0, len(lines)-60):], "\n") + "\n" + p.lastEvents()
}

// lastEvents returns the last events of the controller, the oldest first.
func (p *Place) lastEvents() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var events corev1.EventList
	if err := p.List(ctx, &events); err != nil {
		return "list events: " + err.Error()
	}
	own := slices.DeleteFunc(events.Items, func(e corev1.Event) bool { return e.Source.Component != telemetry.Component })
	slices.SortFunc(own, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	var out strings.Builder
	out.WriteString("the controller's last events:\n")
	for _, e := range own[max(0, len(own)-60):] {
		fmt.Fprintf(&out, "%s %dx %s/%s %s: %s\n",
			e.LastTimestamp.UTC().Format(time.TimeOnly), e.Count, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
	return out.String()
}

// Program runs a program of this project against the cluster and returns its output. Its time limit is twice the
// Patience, because it may wait for several conditions one after another.
func (p *Place) Program(t *testing.T, stdin, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*p.rig.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.rig.Binaries, name), args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Cluster.Dir().Kubeconfig())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Start starts a program of this project with the administrator's rights in the cluster, without ports. It is killed when the
// test ends, or by the returned function. If the test fails, its last log lines are logged.
func (p *Place) Start(t *testing.T, name string, args ...string) (kill func()) {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(p.rig.Binaries, name), args...) //nolint:gosec,noctx // it outlives a call
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Cluster.Dir().Kubeconfig(), "SYSTEM_NAMESPACE="+cluster.Namespace,
		"LEADER_ELECTION_NAMESPACE="+cluster.Namespace, "METRICS_PORT=0", "HEALTH_PROBE_PORT=0", "DISABLE_LEADER_ELECTION=true")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(func() {
		kill()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			lines := strings.Split(string(text), "\n")
			t.Logf("log of %s %s:\n%s", name, args, strings.Join(lines[max(0, len(lines)-25):], "\n"))
		}
	})
	return kill
}

// Local runs karpenter-local on the cluster.
func (p *Place) Local(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return p.Program(t, stdin, "karpenter-local", append([]string{"--dir", string(p.Cluster.Dir())}, args...)...)
}

// AWS returns the configuration with which the real AWS SDK uses the emulated account.
func (p *Place) AWS() aws.Config {
	return aws.Config{
		Region: cluster.Region, BaseEndpoint: aws.String(p.Cluster.Emulator()),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

// Steer returns a client that controls the emulator, as the commands of karpenter-local aws do.
func (p *Place) Steer() control.Client { return control.Client{BaseURL: p.Cluster.Emulator()} }
