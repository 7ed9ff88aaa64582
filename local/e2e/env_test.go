package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/local/cluster"
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
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, err
	}
	return &Env{Cluster: c, WithWatch: watcher}, nil
}

// Run executes karpenter-local with args and returns what it printed.
func (e *Env) Run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	binary := filepath.Join(*binaries, "karpenter-local")
	args = append([]string{"--dir", string(e.Cluster.Dir())}, args...)
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
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

// Await returns when done says so of a list. list is read once and then again
// whenever something of its kind changes; done looks at it and says what it
// still misses, or nothing.
func (e *Env) Await(t *testing.T, list client.ObjectList, done func() string, opts ...client.ListOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	missing := "nothing seen"
	for {
		if err := e.List(ctx, list, opts...); err != nil {
			t.Fatalf("list %T: %v (still missing: %s)", list, err, missing)
		}
		if missing = done(); missing == "" {
			return
		}
		changed, err := e.waitForChange(ctx, list, opts)
		if err != nil {
			t.Fatalf("watch %T: %v", list, err)
		}
		if !changed {
			t.Fatalf("not after %s: %s", patience, missing)
		}
	}
}

// waitForChange returns true when something happened to list since it was
// read, false when ctx is done.
func (e *Env) waitForChange(ctx context.Context, list client.ObjectList, opts []client.ListOption) (bool, error) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return false, err
	}
	from := client.ListOptions{}
	from.ApplyOptions(opts)
	raw := from.AsListOptions()
	raw.ResourceVersion = accessor.GetResourceVersion()
	from.Raw = raw
	watcher, err := e.Watch(ctx, list, &from)
	if err != nil {
		return false, err
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case event := <-watcher.ResultChan():
			if event.Type != watch.Bookmark {
				return true, nil // Also an ended watch: the list is read anew.
			}
		}
	}
}
