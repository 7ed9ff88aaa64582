package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/watching"
)

// sceneKey is the key of a label and a taint that reserve nodes for the pods of one scene.
const sceneKey = "e2e.example.com/scene"

// scenePatience is how long a scene waits for one condition. It is long, because scenes run in parallel and the machine may be
// slow. The tests do not check speed.
const scenePatience = 2 * time.Minute

// A scene is one test's part of the shared cluster: a namespace and a node class with its name, and pools whose nodes only its
// own pods tolerate. When the test ends, all of that is deleted, including instances.
type scene struct {
	*Env
	t     *testing.T
	name  string
	pools []string
}

func newScene(t *testing.T, name string) *scene {
	t.Helper()
	s := &scene{Env: shared, t: t, name: name}
	t.Cleanup(s.strike)
	s.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	var accounts corev1.ServiceAccountList
	s.await(&accounts, func() string {
		if len(accounts.Items) > 0 {
			return ""
		}
		return "namespace " + name + " has no service account"
	}, client.InNamespace(name))
	return s
}

// put creates objects.
func (s *scene) put(objects ...client.Object) {
	s.t.Helper()
	for _, object := range objects {
		if err := s.Create(s.t.Context(), object); err != nil {
			s.t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

// mine selects the claims and nodes of the scene.
func (s *scene) mine() client.ListOption { return client.MatchingLabels{sceneKey: s.name} }

// context returns a context with a timeout. It does not end with the test, because clean-up also waits.
func (s *scene) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(s.t.Context()), scenePatience)
}

// await waits until done returns "". It reads list again whenever an object of its kind changes.
func (s *scene) await(list client.ObjectList, done func() string, opts ...client.ListOption) {
	s.t.Helper()
	ctx, cancel := s.context()
	defer cancel()
	missing := "nothing seen"
	err := watching.Until(ctx, s, list, func() bool {
		missing = done()
		return missing == ""
	}, opts...)
	if err != nil {
		s.t.Fatalf("%s (%v)", missing, err)
	}
}

// poll is like await, for state that cannot be watched, and for several kinds.
func (s *scene) poll(done func() string) {
	s.t.Helper()
	ctx, cancel := s.context()
	defer cancel()
	missing := "nothing seen"
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		missing = done()
		return missing == "", nil
	})
	if err != nil {
		s.t.Fatalf("%s (%v)", missing, err)
	}
}

// instances returns the instances of the scene's pools that EC2 lists.
func (s *scene) instances() []control.Instance {
	s.t.Helper()
	ctx, cancel := s.context()
	defer cancel()
	all, err := s.Steer().Instances(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	var mine []control.Instance
	for _, i := range all {
		for _, pool := range s.pools {
			if i.Tags[apiv1.NodePoolLabelKey] == pool {
				mine = append(mine, i)
			}
		}
	}
	return mine
}

// awaitNothing waits until the scene has no claim, node or instance.
func (s *scene) awaitNothing() {
	s.t.Helper()
	var claims apiv1.NodeClaimList
	s.await(&claims, func() string { return leftOver("claims", len(claims.Items)) }, s.mine())
	var nodes corev1.NodeList
	s.await(&nodes, func() string { return leftOver("nodes", len(nodes.Items)) }, s.mine())
	s.poll(func() string {
		for _, i := range s.instances() {
			if i.State != "terminated" {
				return fmt.Sprintf("instance %s is %s", i.ID, i.State)
			}
		}
		return ""
	})
}

func leftOver(what string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s are left", n, what)
}

// strike deletes the objects of the scene and waits until its instances are gone.
func (s *scene) strike() {
	if s.t.Failed() {
		s.tell()
	}
	ctx, cancel := s.context()
	defer cancel()
	here := client.InNamespace(s.name)
	for _, kind := range []client.Object{
		&appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &corev1.PersistentVolumeClaim{},
	} {
		if err := s.DeleteAllOf(ctx, kind, here, client.PropagationPolicy("Background")); err != nil {
			s.t.Errorf("delete every %T of %s: %v", kind, s.name, err)
		}
	}
	var pods corev1.PodList
	s.await(&pods, func() string { return leftOver("pods", len(pods.Items)) }, here)
	for _, pool := range s.pools {
		s.remove(ctx, &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool}})
	}
	s.awaitNothing()
	s.remove(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
	s.removeClass(ctx)
}

func (s *scene) remove(ctx context.Context, object client.Object) {
	err := s.Delete(ctx, object, client.PropagationPolicy("Background"))
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Errorf("delete %T %s: %v", object, object.GetName(), err)
	}
}
