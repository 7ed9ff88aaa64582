package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
)

// patience is how long a test waits for one condition before it fails with what is missing. The tests do not check speed.
const patience = 90 * time.Second

// An Env is a cluster: the one that all tests share, or a test's own.
type Env struct{ *rig.Place }

func newEnv(r rig.Rig, c *cluster.Cluster) (*Env, error) {
	place, err := r.Place(c)
	return &Env{place}, err
}

// Run executes karpenter-local with args and returns what it printed.
func (e *Env) Run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return e.Local(t, "", args...)
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
