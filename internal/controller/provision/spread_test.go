package provision

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/internal/observe/inputs"
)

// The scheduler's default spread constraints apply to a pod without constraints if services can be read and a service selects the
// pod. No resource is listed that may not be read.
func TestDefaultSpread(t *testing.T) {
	for name, tt := range map[string]struct {
		readable []schema.GroupResource
		want     int
	}{
		"spread":                              {readable: inputs.Workloads(), want: 2},
		"services may not be read":            {readable: inputs.Workloads()[1:], want: 1},
		"nothing but services may be read":    {readable: inputs.Workloads()[:1], want: 2},
		"no workloads and no services at all": {want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			everyone := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: "default"}}
			everyone.Spec.Selector = map[string]string{"app": "web"}
			readable := sets.New(tt.readable...)
			w.Spread = &inputs.Spread{
				Reader: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(everyone).WithInterceptorFuncs(
					interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
						// A list from the cache would block.
						if r := resourceOf(list); !readable.Has(r) {
							t.Errorf("%s are listed, and may not be read", r)
						}
						return c.List(ctx, list, o...)
					}}).Build(),
				Readable: readable,
				Constraints: []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
				}},
			}
			w.pend("web", 2, 1)
			for _, p := range w.Cluster.Snapshot().Pods.Values() {
				o := p.Object.DeepCopy()
				o.Labels = map[string]string{"app": "web"}
				w.Cluster.Set(o)
			}
			w.clock.Step(time.Second)
			w.reconcile()
			if n := len(w.claims()); n != tt.want {
				t.Errorf("%d nodes, want %d", n, tt.want)
			}
		})
	}
}

// resourceOf returns the resource whose objects the list has.
func resourceOf(list client.ObjectList) schema.GroupResource {
	switch list.(type) {
	case *corev1.ServiceList:
		return schema.GroupResource{Resource: "services"}
	case *corev1.ReplicationControllerList:
		return schema.GroupResource{Resource: "replicationcontrollers"}
	case *appsv1.ReplicaSetList:
		return schema.GroupResource{Group: appsv1.GroupName, Resource: "replicasets"}
	case *appsv1.StatefulSetList:
		return schema.GroupResource{Group: appsv1.GroupName, Resource: "statefulsets"}
	}
	return schema.GroupResource{}
}
