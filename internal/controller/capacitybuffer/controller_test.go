package capacitybuffer

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

var start = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// A world is the controller with an API server in memory.
type world struct {
	*Controller
	kube     client.Client
	snapshot *model.Snapshot
	woken    int
}

func (w *world) Snapshot() *model.Snapshot { return w.snapshot }
func (w *world) Wake()                     { w.woken++ }

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{snapshot: &model.Snapshot{}, kube: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&autoscalingv1beta1.CapacityBuffer{}).Build()}
	w.Controller = &Controller{
		Client: w.kube, Clock: clocktesting.NewFakeClock(start), Buffers: &Buffers{Reader: w.kube}, Cluster: w,
	}
	return w
}

// look reconciles the buffer. It returns its conditions as "Type=Status Reason", and the delay until the next reconcile.
func (w *world) look(t *testing.T, name string) (conditions string, again time.Duration) {
	t.Helper()
	key := client.ObjectKey{Namespace: "ns", Name: name}
	result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range w.buffer(t, name).Status.Conditions {
		lines = append(lines, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return strings.Join(lines, ", "), result.RequeueAfter
}

func (w *world) buffer(t *testing.T, name string) *autoscalingv1beta1.CapacityBuffer {
	t.Helper()
	var b autoscalingv1beta1.CapacityBuffer
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &b); err != nil {
		t.Fatal(err)
	}
	return &b
}

func bufferOf(name string, replicas int32, spec autoscalingv1beta1.CapacityBufferSpec) *autoscalingv1beta1.CapacityBuffer {
	spec.Replicas = &replicas
	return &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Spec: spec}
}

func ofTemplate(name string) autoscalingv1beta1.CapacityBufferSpec {
	return autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: &autoscalingv1beta1.LocalObjectRef{Name: name}}
}

func ofScalable(group, kind, name string) autoscalingv1beta1.CapacityBufferSpec {
	return autoscalingv1beta1.CapacityBufferSpec{ScalableRef: &autoscalingv1beta1.ScalableRef{
		APIGroup: group, Kind: kind, Name: name,
	}}
}

func podTemplate() *corev1.PodTemplate {
	return &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "t", Namespace: "ns", Generation: 3},
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			},
		}}}},
	}
}

// upNode returns a managed node that is ready.
func upNode() *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{
		apiv1.NodePoolLabelKey: "default", apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
	}}}
	n.Spec.ProviderID = "x://n1"
	return n
}

// A buffer wakes provisioning when it is new or changed. Its status shows whether its virtual pods fit on nodes.
func TestLifeOfABuffer(t *testing.T) {
	w := newWorld(t, podTemplate(), bufferOf("b", 1, ofTemplate("t")))
	got, again := w.look(t, "b")
	if got != "ReadyForProvisioning=True Resolved, Provisioning=False RequiresNewCapacity" || again != unsettled {
		t.Errorf("conditions are %s, next look in %v", got, again)
	}
	status := w.buffer(t, "b").Status
	if *status.Replicas != 1 || *status.PodTemplateGeneration != 3 || status.PodTemplateRef.Name != "t" || w.woken != 1 {
		t.Errorf("status is %+v, woken %d times", status, w.woken)
	}
	w.snapshot = model.Compile(model.Delta{Nodes: []*corev1.Node{upNode()}}).
		WithTargets(map[string]string{"ns/capacity-buffer-b-0": "n1"})
	got, again = w.look(t, "b")
	if got != "ReadyForProvisioning=True Resolved, Provisioning=True FitsExistingCapacity" || again != settled || w.woken != 1 {
		t.Errorf("conditions are %s, next look in %v, woken %d times", got, again, w.woken)
	}
	b := w.buffer(t, "b")
	b.Spec.Replicas = new(int32)
	if err := w.kube.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if got, _ = w.look(t, "b"); !strings.HasSuffix(got, "Provisioning=False BufferEmpty") || w.woken != 2 {
		t.Errorf("conditions are %s, woken %d times", got, w.woken)
	}
}

// told returns the message about the problem of a buffer with the spec.
func (b *Buffers) told(t *testing.T, spec autoscalingv1beta1.CapacityBufferSpec) string {
	t.Helper()
	src, err := b.source(t.Context(), bufferOf("x", 1, spec))
	if err != nil || src.Problem == nil {
		t.Fatalf("source is %v, %v, want a problem", src, err)
	}
	return src.Problem.Message
}

// If the object that a buffer references is missing or has no pods, the status of the buffer has the reason.
func TestUnresolved(t *testing.T) {
	w := newWorld(t, bufferOf("template", 1, ofTemplate("none")), bufferOf("scalable", 1, ofScalable("apps", "Deployment", "none")),
		bufferOf("kind", 1, ofScalable("batch", "Job", "j")), bufferOf("nothing", 1, autoscalingv1beta1.CapacityBufferSpec{}))
	for name, reason := range map[string]string{
		"template": "PodTemplateNotFound", "scalable": "ScalableRefNotFound", "kind": "ResolutionFailed", "nothing": "ResolutionFailed",
	} {
		want := "ReadyForProvisioning=False " + reason + ", Provisioning=False NotReadyForProvisioning"
		if got, _ := w.look(t, name); got != want {
			t.Errorf("%s: conditions are %s, want %s", name, got, want)
		}
	}
	for what, want := range map[string]string{
		w.Buffers.told(t, ofTemplate("none")):                       "PodTemplate none does not exist in namespace ns; fix: create it, or correct spec.podTemplateRef",
		w.Buffers.told(t, ofScalable("apps", "Deployment", "none")): "Deployment none does not exist in namespace ns; fix: create it, or correct spec.scalableRef",
		w.Buffers.told(t, autoscalingv1beta1.CapacityBufferSpec{}):  "Neither spec.podTemplateRef nor spec.scalableRef is set; fix: set one of them",
	} {
		if what != want {
			t.Errorf("message is %q, want %q", what, want)
		}
	}
	if s := w.Buffers.Stock(t.Context(), w.snapshot); len(s.Pending()) != 0 {
		t.Errorf("%d pods are asked for", len(s.Pending()))
	}
}

// The snapshot has the virtual pods of all buffers. For a scalable object, their number follows its current replicas.
func TestStock(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns"}}
	deployment.Spec.Template = podTemplate().Template
	ten, twenty := int32(10), int32(20)
	deployment.Spec.Replicas = &ten
	part := bufferOf("part", 0, ofScalable("apps", "Deployment", "web"))
	part.Spec.Percentage = &twenty
	w := newWorld(t, podTemplate(), deployment, part, bufferOf("b", 3, ofTemplate("t")))
	s := w.Buffers.Stock(t.Context(), w.snapshot)
	count := map[string]int{}
	for _, p := range s.Pending() {
		count[p.Buffer]++
	}
	if count["ns/part"] != 2 || count["ns/b"] != 3 || len(count) != 2 {
		t.Errorf("room is asked for %v", count)
	}
	if requests := w.namedBy(t.Context(), deployment); len(requests) != 1 || requests[0].Name != "part" {
		t.Errorf("a change of the deployment concerns %v", requests)
	}
	if requests := w.namedBy(t.Context(), podTemplate()); len(requests) != 1 || requests[0].Name != "b" {
		t.Errorf("a change of the template concerns %v", requests)
	}
	var none *Buffers
	if none.Stock(t.Context(), w.snapshot) != w.snapshot {
		t.Error("without the feature the snapshot is another")
	}
}

// The buffers of a namespace get rations of its quotas in the order of their names. The status of a buffer shows that it was cut.
func TestQuotas(t *testing.T) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "cores", Namespace: "ns"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("4")}
	w := newWorld(t, podTemplate(), quota, bufferOf("b", 3, ofTemplate("t")), bufferOf("a", 3, ofTemplate("t")))
	w.Buffers.Quotas = true
	s := w.Buffers.Stock(t.Context(), w.snapshot)
	count := map[string]int{}
	for _, p := range s.Pending() {
		count[p.Buffer]++
	}
	if count["ns/a"] != 3 || count["ns/b"] != 1 {
		t.Errorf("room is asked for %v, want 3 and the 1 that is left", count)
	}
	for name, want := range map[string]string{"a": "LimitedByQuotas=False WithinQuotas", "b": "LimitedByQuotas=True LimitedByQuotas"} {
		if got, _ := w.look(t, name); !strings.HasSuffix(got, want) {
			t.Errorf("%s: conditions are %s, want %s", name, got, want)
		}
	}
	if n := *w.buffer(t, "b").Status.Replicas; n != 1 {
		t.Errorf("b says there will be room for %d", n)
	}
	if err := w.kube.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	if got, _ := w.look(t, "b"); strings.Contains(got, "LimitedByQuotas") {
		t.Errorf("without a quota b says %s", got)
	}
}
