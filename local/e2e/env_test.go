package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/watching"
)

// patience is how long a test waits for one thing before it says what is
// missing. It bounds a failure; nothing is asserted about speed.
const patience = 90 * time.Second

// An Env is a running cluster and the ways to use it.
type Env struct {
	Cluster *cluster.Cluster
	client.WithWatch
}

func newEnv(c *cluster.Cluster) (*Env, error) {
	watcher, err := rig.Client(c)
	if err != nil {
		return nil, err
	}
	return &Env{Cluster: c, WithWatch: watcher}, nil
}

// Run executes karpenter-local with args and returns what it printed. It may
// be used in clean-up too.
func (e *Env) Run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	defer cancel()
	binary := filepath.Join(*binaries, "karpenter-local")
	args = append([]string{"--dir", string(e.Cluster.Dir())}, args...)
	out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput()
	return string(out), err
}

// Kubectl runs kubectl and ends the test if it fails.
func (e *Env) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := e.Run(t, append([]string{"kubectl"}, args...)...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Make creates objects and deletes them, in reverse order, after the test.
func (e *Env) Make(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := e.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			err := e.Delete(ctx, object, client.PropagationPolicy("Background"))
			if err != nil && !apierrors.IsNotFound(err) {
				t.Errorf("delete %T %s: %v", object, object.GetName(), err)
			}
		})
	}
}

// Await returns when done has nothing to miss. list is read once and then again
// whenever something of its kind changes; done looks at it and says what is
// still missing, which is also what a failure says.
func (e *Env) Await(t *testing.T, list client.ObjectList, done func() string, opts ...client.ListOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	missing := "nothing seen"
	err := watching.Until(ctx, e, list, func() bool {
		missing = done()
		return missing == ""
	}, opts...)
	if err != nil {
		t.Fatalf("%s (%v)", missing, err)
	}
}
