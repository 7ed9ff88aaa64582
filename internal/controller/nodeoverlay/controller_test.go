package nodeoverlay

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
)

func typeOf(name string) *cloud.InstanceType {
	labels := require.FromLabels(map[string]string{
		corev1.LabelTopologyZone: "a", apiv1.CapacityTypeLabelKey: "on-demand",
	})
	return &cloud.InstanceType{
		Name:         name,
		Requirements: labels.And(require.FromLabels(map[string]string{corev1.LabelInstanceTypeStable: name})),
		Offerings:    []cloud.Offering{{Zone: "a", CapacityType: "on-demand", Price: 1, Available: true, Requirements: labels}},
	}
}

func overlayOf(name, price string, types ...string) *overlayv1alpha1.NodeOverlay {
	return &overlayv1alpha1.NodeOverlay{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1},
		Spec: overlayv1alpha1.NodeOverlaySpec{Price: &price, Requirements: []overlayv1alpha1.NodeSelectorRequirement{
			{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: types},
		}},
	}
}

func poolOf(name string) *apiv1.NodePool {
	p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Template.Spec.NodeClassRef = fakecloud.Ref("class")
	return p
}

// A world is the controller with an API server in memory and a cloud with two types.
type world struct {
	kube  client.Client
	cloud *fakecloud.Cloud
	*Controller
}

func newWorld(objects ...client.Object) *world {
	w := &world{
		kube: fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(objects...).
			WithStatusSubresource(&overlayv1alpha1.NodeOverlay{}).Build(),
		cloud: &fakecloud.Cloud{Types: []*cloud.InstanceType{typeOf("large"), typeOf("small")}},
	}
	w.Controller = &Controller{
		Client: w.kube, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Cloud: w.cloud, Labels: apiv1.CoreLabels(),
	}
	return w
}

func (w *world) judge(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := w.Reconcile(t.Context(), ctrl.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// prices returns the prices of large and small in the pool, with overlays applied.
func (w *world) prices(t *testing.T, pool string) [2]float64 {
	t.Helper()
	o := &Overlays{Reader: w.kube, Labels: apiv1.CoreLabels()}
	types, err := o.Provider(w.cloud).InstanceTypes(t.Context(), poolOf(pool))
	if err != nil {
		t.Fatal(err)
	}
	again, err := o.Of(t.Context(), pool, w.cloud.Types)
	if err != nil || again[0].Offerings[0].Price != types[0].Offerings[0].Price {
		t.Errorf("a launch is priced at %v, %v; a plan at %v", again[0].Offerings[0].Price, err, types[0].Offerings[0].Price)
	}
	return [2]float64{types[0].Offerings[0].Price, types[1].Offerings[0].Price}
}

func (w *world) verdict(t *testing.T, name string) string {
	t.Helper()
	var o overlayv1alpha1.NodeOverlay
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: name}, &o); err != nil {
		t.Fatal(err)
	}
	ready := condition.Get(&o, overlayv1alpha1.ConditionTypeReady)
	valid := condition.Get(&o, overlayv1alpha1.ConditionTypeValidationSucceeded)
	if ready == nil || ready.Status != valid.Status {
		t.Errorf("%s: Ready is %v, ValidationSucceeded %v", name, ready, valid)
	}
	return string(valid.Status) + " " + valid.Reason
}

// An overlay is applied before it is validated. If its status says that it conflicts with another overlay, it is not applied
// until the other one is deleted.
func TestOverlaysInForce(t *testing.T) {
	w := newWorld(poolOf("default"), overlayOf("a", "7", "small", "large"))
	if got := w.prices(t, "default"); got != [2]float64{7, 7} {
		t.Errorf("prices before any judgement are %v", got)
	}
	b := overlayOf("b", "9", "large")
	if err := w.kube.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if got := w.judge(t); got.RequeueAfter != period {
		t.Errorf("looks again in %v", got.RequeueAfter)
	}
	if a, b := w.verdict(t, "a"), w.verdict(t, "b"); a != "False Conflict" || b != "True ValidationSucceeded" {
		t.Errorf("a is %s, b is %s", a, b)
	}
	if got := w.prices(t, "default"); got != [2]float64{9, 1} {
		t.Errorf("prices are %v, want those of b alone", got)
	}
	if err := w.kube.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.judge(t)
	if got := w.prices(t, "default"); got != [2]float64{7, 7} || w.verdict(t, "a") != "True ValidationSucceeded" {
		t.Errorf("without b prices are %v", got)
	}
}

// Pools whose types cannot be listed are skipped, and validation is repeated soon. For deleted pools no overlay is applied.
func TestPoolsWithoutTypes(t *testing.T) {
	w := newWorld(poolOf("default"), overlayOf("a", "7", "small"))
	w.cloud.TypesErr = &cloud.NodeClassNotReadyError{}
	if got := w.judge(t); got.RequeueAfter != retry {
		t.Errorf("looks again in %v", got.RequeueAfter)
	}
	if got := w.verdict(t, "a"); got != "True ValidationSucceeded" {
		t.Errorf("a is %s", got)
	}
	types, err := (&Overlays{Reader: w.kube}).Of(t.Context(), "gone", w.cloud.Types)
	if err != nil || types[1].Offerings[0].Price != 1 {
		t.Errorf("a pool that is gone has prices %v, %v", types[1].Offerings[0].Price, err)
	}
}
