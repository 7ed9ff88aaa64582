package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

const (
	namespace   = "capi"
	clusterName = "prod"
	owner       = "uid-of-kube-system"
	infraGroup  = "infrastructure.example.com"
	bootGroup   = "bootstrap.example.com"
	finalizer   = "machine.cluster.x-k8s.io"
)

// skipping is a clock whose timers fire at once, so that polls take no time. Deadlines are those of contexts.
type skipping struct{ clock.RealClock }

func (skipping) AfterFunc(_ time.Duration, f func()) clock.Timer {
	return clock.RealClock{}.AfterFunc(time.Microsecond, f)
}

// errCrash is the error of clients after the simulated end of the process.
var errCrash = errors.New("the process has ended")

// A world has two API servers in memory, and simulates what Cluster API and the infrastructure do with Machines.
type world struct {
	kube, management client.WithWatch
	clock            clock.WithDelayedExecution

	mu        sync.Mutex
	uids      int
	lost      bool               // creations of Machines never answer
	hung      bool               // the infrastructure never provisions
	mistake   bool               // and reports a mistake, which may be corrected
	exhausted map[[2]string]bool // template and failure domain without capacity
	broken    map[string]string  // template to the failure reason of its infrastructure
	writes    int                // number of writes of both clients
	crashAt   int                // the number of the write at which the process ends; 0 for never
	after     bool               // the write at crashAt is stored
	fault     error              // if set, the write at crashAt fails with it, and the process goes on
	crashed   bool
}

func newWorld(t *testing.T, more ...client.Object) *world {
	t.Helper()
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{clock: skipping{}, exhausted: map[[2]string]bool{}, broken: map[string]string{}}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: owner}}
	w.kube = fakeclient.NewClientBuilder().WithScheme(scheme).WithObjects(system, class()).
		WithStatusSubresource(&apiv1.NodeClaim{}, &clusterapiv1alpha1.ClusterAPINodeClass{}).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				return w.write(func() error { return c.Patch(ctx, o, p, opts...) })
			},
		}).Build()
	w.management = fakeclient.NewClientBuilder().WithScheme(runtime.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetUID(types.UID(w.uid()))
			return w.write(func() error { return w.create(ctx, c, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return w.write(func() error { return errors.Join(c.Patch(ctx, o, p, opts...), w.unhook(ctx, c, o)) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return w.write(func() error { return errors.Join(c.Delete(ctx, o, opts...), w.unhook(ctx, c, o)) })
		},
	}).Build()
	for _, o := range append(setting(), more...) {
		if err := w.management.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.resolve(t)
	w.writes = 0
	return w
}

// resolve runs the controller of classes once.
func (w *world) resolve(t *testing.T) *clusterapiv1alpha1.ClusterAPINodeClass {
	t.Helper()
	s := w.provider().Status()
	if _, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err != nil {
		t.Fatal(err)
	}
	var c clusterapiv1alpha1.ClusterAPINodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func (w *world) uid() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uids++
	return fmt.Sprintf("uid-%d", w.uids)
}

// write does one write of the process, unless the process has ended.
func (w *world) write(do func() error) error {
	w.mu.Lock()
	w.writes++
	fails := w.crashAt > 0 && w.writes == w.crashAt
	stored, fault := !w.crashed && (!fails || w.after), w.fault
	w.crashed = w.crashed || fails && fault == nil
	crashed := w.crashed
	w.mu.Unlock()
	if stored {
		if err := do(); err != nil {
			return err
		}
	}
	switch {
	case crashed:
		return errCrash
	case fails:
		return fault
	}
	return nil
}

// create stores the object. A Machine gets the fields that Cluster API and the infrastructure would write.
func (w *world) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || u.GetKind() != "Machine" {
		return c.Create(ctx, o, opts...)
	}
	u.SetFinalizers([]string{finalizer})
	u.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	if err := c.Create(ctx, u, opts...); err != nil {
		return err
	}
	stored := u.DeepCopy()
	if err := w.provision(ctx, c, stored); err != nil {
		return err
	}
	if err := c.Update(ctx, stored); err != nil {
		return err
	}
	w.mu.Lock()
	lost := w.lost
	w.mu.Unlock()
	if lost {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// provision writes the outcome of the infrastructure to the Machine.
func (w *world) provision(ctx context.Context, c client.WithWatch, u *unstructured.Unstructured) error {
	m, err := decode[machine](u)
	if err != nil {
		return err
	}
	infra := empty(schema.GroupVersionKind{Group: infraGroup, Version: "v1", Kind: m.Spec.InfrastructureRef.Kind})
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: m.Spec.InfrastructureRef.Name}, infra); err != nil {
		return err
	}
	from := infra.GetAnnotations()[clonedFromName]
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.exhausted[[2]string{from, m.Spec.FailureDomain}]:
		return unstructured.SetNestedSlice(u.Object, []any{map[string]any{
			"type": "InfrastructureReady", "status": "False", "reason": "InstanceProvisionFailed",
			"message": "We currently do not have sufficient capacity: InsufficientInstanceCapacity", "lastTransitionTime": "2026-01-05T12:00:00Z",
		}}, "status", "conditions")
	case w.broken[from] != "":
		return unstructured.SetNestedMap(u.Object, map[string]any{
			"failureReason": w.broken[from], "failureMessage": "the image does not exist",
		}, "status", "deprecated", "v1beta1")
	case w.hung && w.mistake:
		return unstructured.SetNestedSlice(u.Object, []any{map[string]any{
			"type": "InfrastructureReady", "status": "False", "reason": "InvalidImage", "message": "The image does not exist",
			"lastTransitionTime": "2026-01-05T12:00:00Z",
		}}, "status", "conditions")
	case w.hung:
		return nil
	}
	return unstructured.SetNestedField(u.Object, "test:///"+u.GetName(), "spec", "providerID")
}

// unhook removes a Machine that is being deleted and has no hook, with its clones.
func (w *world) unhook(ctx context.Context, c client.WithWatch, o client.Object) error {
	u := empty(gvk("Machine"))
	if o.GetObjectKind().GroupVersionKind().Kind != "Machine" || c.Get(ctx, client.ObjectKeyFromObject(o), u) != nil {
		return nil
	}
	if _, held := u.GetAnnotations()[endHook]; held || u.GetDeletionTimestamp() == nil {
		return nil
	}
	for _, kind := range []schema.GroupVersionKind{infraKind("TestMachine"), bootKind("TestConfig")} {
		clone := empty(kind)
		clone.SetNamespace(u.GetNamespace())
		clone.SetName(u.GetName())
		if err := client.IgnoreNotFound(c.Delete(ctx, clone)); err != nil {
			return err
		}
	}
	u.SetFinalizers(nil)
	return c.Update(ctx, u)
}

func bootKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: bootGroup, Version: "v1", Kind: kind}
}

func infraKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: infraGroup, Version: "v1", Kind: kind}
}

// object makes an object of the management cluster.
func object(kind schema.GroupVersionKind, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// sizes are the templates of the world: CPUs by name. Their price is 0.05 dollars for each CPU.
var sizes = map[string]int64{"large": 16, "medium": 8, "small": 4}

// setting returns a Cluster with two failure domains, and a MachineDeployment with its templates for each size.
func setting() []client.Object {
	out := []client.Object{object(gvk("Cluster"), clusterName, map[string]any{
		"status": map[string]any{"failureDomains": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}},
	})}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		out = append(out, deploymentOf(name, sizes[name]), infraTemplateOf(name, sizes[name]), bootTemplateOf(name))
	}
	return out
}

func deploymentOf(name string, cpu int64) *unstructured.Unstructured {
	u := object(gvk("MachineDeployment"), name, map[string]any{"spec": map[string]any{
		"clusterName": clusterName, "replicas": int64(0),
		"selector": map[string]any{"matchLabels": map[string]any{coreGroup + "/deployment-name": name, "pool": name}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{
				coreGroup + "/deployment-name": name, "pool": name, "node.cluster.x-k8s.io/size": name, "other": "label",
			}},
			"spec": map[string]any{
				"clusterName": clusterName, "version": "v1.36.3", "minReadySeconds": int64(5),
				"bootstrap":         map[string]any{"configRef": map[string]any{"apiGroup": bootGroup, "kind": "TestConfigTemplate", "name": name}},
				"infrastructureRef": map[string]any{"apiGroup": infraGroup, "kind": "TestMachineTemplate", "name": name},
			},
		},
	}})
	u.SetLabels(map[string]string{"autoscaled": "yes"})
	u.SetAnnotations(map[string]string{
		capacityPrefix + "memory": fmt.Sprintf("%dGi", 4*cpu), clusterapiv1alpha1.PriceAnnotationKey: fmt.Sprint(0.05 * float64(cpu)),
	})
	return u
}

func infraTemplateOf(name string, cpu int64) *unstructured.Unstructured {
	return object(infraKind("TestMachineTemplate"), name, map[string]any{
		"spec":   map[string]any{"template": map[string]any{"spec": map[string]any{"size": name}}},
		"status": map[string]any{"capacity": map[string]any{"cpu": fmt.Sprint(cpu), "memory": "1Gi"}},
	})
}

func bootTemplateOf(name string) *unstructured.Unstructured {
	return object(bootKind("TestConfigTemplate"), name, map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"join": "yes"}}},
	})
}

func class() *clusterapiv1alpha1.ClusterAPINodeClass {
	return &clusterapiv1alpha1.ClusterAPINodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1},
		Spec: clusterapiv1alpha1.ClusterAPINodeClassSpec{
			ClusterName: clusterName, Namespace: namespace,
			MachineDeploymentSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"autoscaled": "yes"}},
		},
	}
}

func pool() *apiv1.NodePool {
	p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{
		Group: clusterapiv1alpha1.Group, Kind: clusterapiv1alpha1.Kind, Name: "default",
	}
	return p
}

func in(key string, values ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// claim stores a claim of the pool that requests one CPU.
func (w *world) claim(t *testing.T, name string, reqs ...apiv1.NodeSelectorRequirementWithMinValues) *apiv1.NodeClaim {
	t.Helper()
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "default"}}}
	c.Spec.NodeClassRef = pool().Spec.Template.Spec.NodeClassRef
	c.Spec.Requirements = reqs
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	w.store(t, c)
	return c
}

// versions returns the version of the kinds of the tests.
func versions(gk schema.GroupKind) (schema.GroupVersionKind, error) {
	if gk.Group != infraGroup && gk.Group != bootGroup {
		return schema.GroupVersionKind{}, fmt.Errorf("no matches for kind %s", gk)
	}
	return gk.WithVersion("v1"), nil
}

// silent is a recorder of no events.
type silent struct{}

func (silent) Publish(...telemetry.Event) {}

// provider starts a provider, as a new process would.
func (w *world) provider() *Provider {
	w.mu.Lock()
	w.lost, w.crashed, w.crashAt, w.fault = false, false, 0, nil
	w.mu.Unlock()
	return New(Config{
		Client: w.kube, Reader: w.kube, Management: Management{Cached: w.management, Live: w.management, Kinds: versions},
		Ledger: act.Ledger{Client: w.kube}, Events: silent{}, Clock: w.clock,
	})
}

func (w *world) store(t *testing.T, c *apiv1.NodeClaim) {
	t.Helper()
	c.UID = types.UID(w.uid())
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

// names returns the names of all objects of a kind in the management cluster; those that are being deleted with a minus sign.
func (w *world) names(t *testing.T, kind schema.GroupVersionKind) []string {
	t.Helper()
	list := emptyList(kind)
	if err := w.management.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		name := list.Items[i].GetName()
		if list.Items[i].GetDeletionTimestamp() != nil {
			name = "-" + name
		}
		out = append(out, name)
	}
	return out
}

// alive returns how many Machines exist that are not being deleted.
func (w *world) alive(t *testing.T) int {
	t.Helper()
	return len(slices.DeleteFunc(w.names(t, gvk("Machine")), func(name string) bool { return strings.HasPrefix(name, "-") }))
}

// change changes an object of the management cluster.
func (w *world) change(t *testing.T, kind schema.GroupVersionKind, name string, edit func(u *unstructured.Unstructured)) {
	t.Helper()
	u := empty(kind)
	if err := w.management.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		t.Fatal(err)
	}
	edit(u)
	if err := w.management.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}
