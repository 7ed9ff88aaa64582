package kwok

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/cloudtest"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/provider/remote/remotetest"
)

var start = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// A world is an API server in memory with one class and one pool.
type world struct {
	kube  client.WithWatch
	clock *clocktesting.FakeClock
	uids  atomic.Int64
	// lost is set while creations of nodes get no response.
	lost atomic.Bool
	// refused is set while the API server refuses nodes.
	refused atomic.Bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{clock: clocktesting.NewFakeClock(start)}
	w.kube = fakeclient.NewClientBuilder().WithScheme(scheme).WithObjects(class()).
		WithStatusSubresource(&apiv1.NodeClaim{}, &kwokv1alpha1.KWOKNodeClass{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, node := o.(*corev1.Node); node {
					if w.refused.Load() {
						return apierrors.NewForbidden(corev1.Resource("nodes"), o.GetName(), errors.New("denied by a policy"))
					}
					o.SetUID(types.UID(fmt.Sprintf("node-%d", w.uids.Add(1))))
				}
				err := c.Create(ctx, o, opts...)
				if _, node := o.(*corev1.Node); node && err == nil && w.lost.Load() {
					<-ctx.Done()
					return ctx.Err()
				}
				return err
			},
		}).Build()
	return w
}

// class returns a class as the API server stores it, with the default Ready=True.
func class() *kwokv1alpha1.KWOKNodeClass {
	c := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}}
	return c
}

func pool() *apiv1.NodePool {
	p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{
		Group: kwokv1alpha1.Group, Kind: "KWOKNodeClass", Name: "default",
	}
	p.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelOSStable, "linux"), in(corev1.LabelArchStable, "amd64"),
	}
	return p
}

func in(key string, values ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// claim returns a claim of the pool with a cpu request and the requirements reqs.
func claim(name, cpu string, reqs ...apiv1.NodeSelectorRequirementWithMinValues) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "default", "team": "blue"},
	}}
	c.Spec.NodeClassRef = pool().Spec.Template.Spec.NodeClassRef
	c.Spec.Requirements = append(pool().Spec.Template.Spec.Requirements, reqs...)
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return c
}

func (w *world) provider() *Provider {
	w.lost.Store(false)
	return New(Config{Client: w.kube, Reader: w.kube, Nodes: act.Writer{Client: w.kube}, Clock: w.clock, Types: GenericTypes()})
}

func (w *world) store(t *testing.T, c *apiv1.NodeClaim) {
	t.Helper()
	c.UID = types.UID(fmt.Sprintf("claim-%d", w.uids.Add(1)))
	if err := w.kube.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func (w *world) load(t *testing.T, name string) *apiv1.NodeClaim {
	t.Helper()
	var c apiv1.NodeClaim
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: name}, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// launched writes the fields that the launch controller writes.
func (w *world) launched(t *testing.T, name string, i *cloud.Instance) {
	t.Helper()
	c := w.load(t, name)
	for k, v := range i.Labels {
		metav1.SetMetaDataLabel(&c.ObjectMeta, k, v)
	}
	for k, v := range i.Annotations {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, k, v)
	}
	if err := w.kube.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.Status.ProviderID = i.ProviderID
	condition.SetTrue(c, apiv1.ConditionTypeLaunched, w.clock.Now())
	if err := w.kube.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func (w *world) nodes(t *testing.T) []corev1.Node {
	t.Helper()
	var list corev1.NodeList
	if err := w.kube.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestConformance(t *testing.T) {
	conform(t, func(_ *testing.T, w *world) cloud.Provider { return w.provider() })
}

func TestConformanceOverSocket(t *testing.T) {
	conform(t, func(t *testing.T, w *world) cloud.Provider { return remotetest.Over(t, w.provider(), w.kube) })
}

func conform(t *testing.T, open func(*testing.T, *world) cloud.Provider) {
	t.Helper()
	cloudtest.Run(t, func(t *testing.T) *cloudtest.Harness {
		w := newWorld(t)
		return &cloudtest.Harness{
			Pool: pool(), NamesNodes: true,
			Provider: func(t *testing.T) cloud.Provider { return open(t, w) },
			Store:    w.store, Load: w.load, Launched: w.launched,
			Alive:      func(t *testing.T) int { return len(w.nodes(t)) },
			LoseAnswer: func(*testing.T) { w.lost.Store(true) },
			Reboots: func(t *testing.T, _ string) (n int) {
				for _, node := range w.nodes(t) {
					if strings.HasPrefix(node.Status.NodeInfo.BootID, bootPrefix) {
						n++
					}
				}
				return n
			},
		}
	})
}
