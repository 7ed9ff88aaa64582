package clusterapi

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
)

// launch creates the claim's Machine and writes the fields that the launch controller writes.
func (w *world) launch(t *testing.T, name string) (*Provider, *apiv1.NodeClaim) {
	t.Helper()
	p := w.provider()
	i, err := p.Create(t.Context(), w.claim(t, name))
	if err != nil {
		t.Fatal(err)
	}
	w.launched(t, name, i)
	return p, w.load(t, name)
}

func TestDrift(t *testing.T) {
	set := func(path ...string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { _ = unstructured.SetNestedField(u.Object, "other", path...) }
	}
	deployment := func(edit func(*unstructured.Unstructured)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { w.change(t, gvk("MachineDeployment"), "small", edit) }
	}
	for name, tt := range map[string]struct {
		change func(*testing.T, *world)
		want   cloud.DriftReason
	}{
		"version": {deployment(set("spec", "template", "spec", "version")), DriftVersion},
		"labels":  {deployment(set("spec", "template", "metadata", "labels", "node.cluster.x-k8s.io/size")), DriftLabels},
		"taints": {func(t *testing.T, w *world) {
			w.annotate(t, "small", map[string]string{capacityPrefix + "taints": "a:NoSchedule"})
		}, DriftLabels},
		"other labels": {deployment(set("spec", "template", "metadata", "labels", "other")), ""},
		"price": {func(t *testing.T, w *world) {
			w.annotate(t, "small", map[string]string{clusterapiv1alpha1.PriceAnnotationKey: "9"})
		}, ""},
		"another infra": {deployment(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "large", "spec", "template", "spec", "infrastructureRef", "name")
		}), DriftTemplate},
		"infrastructure": {func(t *testing.T, w *world) {
			w.change(t, infraKind("TestMachineTemplate"), "small", set("spec", "template", "spec", "image"))
		}, DriftTemplate},
		"bootstrap": {func(t *testing.T, w *world) {
			w.change(t, bootKind("TestConfigTemplate"), "small", set("spec", "template", "spec", "join"))
		}, DriftTemplate},
		"a copy of the template": {func(t *testing.T, w *world) {
			if err := w.management.Create(t.Context(), bootTemplateOf("copy")); err != nil {
				t.Fatal(err)
			}
			deployment(func(u *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(u.Object, "copy", "spec", "template", "spec", "bootstrap", "configRef", "name")
			})(t, w)
		}, ""},
		"not selected": {deployment(func(u *unstructured.Unstructured) { u.SetLabels(nil) }), DriftTemplateRemoved},
		"unreadable":   {deployment(set("spec", "template", "spec", "infrastructureRef", "name")), ""},
		"failure domain": {func(t *testing.T, w *world) {
			w.edit(t, func(c *clusterapiv1alpha1.ClusterAPINodeClass) {
				c.Spec.FailureDomains = []clusterapiv1alpha1.FailureDomain{{Name: "b"}}
			})
		}, DriftFailureDomain},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p, c := w.launch(t, "a")
			tt.change(t, w)
			if got, err := p.Drift(t.Context(), c); got != tt.want || err != nil {
				t.Errorf("drift is %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// There are notices for Machines that others delete, that fail health checks or that the infrastructure reclaims.
func TestNotices(t *testing.T) {
	condition := func(kind, status, reason string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{
				"type": kind, "status": status, "reason": reason, "message": "told", "lastTransitionTime": "2026-01-05T12:00:00Z",
			}}, "status", "conditions")
		}
	}
	for name, tt := range map[string]struct {
		edit func(*unstructured.Unstructured)
		want model.NoticeKind
	}{
		"nothing":      {func(*unstructured.Unstructured) {}, ""},
		"ready":        {condition("InfrastructureReady", "True", "Ready"), ""},
		"spot":         {condition("InfrastructureReady", "False", "SpotInstanceInterrupted"), model.NoticeSpotInterrupted},
		"removed":      {condition("InfrastructureReady", "False", "ObjectDeleted"), model.NoticeInstanceTerminated},
		"not ready":    {condition("InfrastructureReady", "False", "NotReady"), ""},
		"health check": {condition("HealthCheckSucceeded", "False", "UnhealthyNode"), model.NoticeScheduledChange},
	} {
		w := newWorld(t)
		p, c := w.launch(t, "a")
		w.change(t, gvk("Machine"), "prod-a", tt.edit)
		w.wantNotice(t, name, p, c, tt.want)
	}
	w := newWorld(t)
	p, c := w.launch(t, "a")
	m := empty(gvk("Machine"))
	m.SetNamespace(namespace)
	m.SetName("prod-a")
	if err := w.management.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if w.names(t, gvk("Machine"))[0] != "-prod-a" {
		t.Fatal("the hook does not hold the Machine")
	}
	w.wantNotice(t, "deleted by others", p, c, model.NoticeInstanceTerminated)
	w.deleteAll(t, "a")
	w.wantNotice(t, "ended", p, c, "")
	w.wantObjects(t, 0)
}

func (w *world) wantNotice(t *testing.T, name string, p *Provider, c *apiv1.NodeClaim, want model.NoticeKind) {
	t.Helper()
	batch, err := p.NoticeSources()[0].Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got model.NoticeKind
	for _, n := range batch.Notices {
		if n.Instance != c.Status.ProviderID {
			t.Errorf("%s: the notice is about %q, want %q", name, n.Instance, c.Status.ProviderID)
		}
		got = n.Kind
	}
	if got != want {
		t.Errorf("%s: the notice is %q, want %q", name, got, want)
	}
}

// An interrupted offering is not used for a while.
func TestMarkUnavailable(t *testing.T) {
	w := newWorld(t)
	p, c := w.launch(t, "a")
	p.MarkUnavailable(c, apiv1.CapacityTypeSpot)
	types, err := p.InstanceTypes(t.Context(), pool())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range types {
		for _, o := range it.Offerings {
			short := it.Name == c.Labels[corev1.LabelInstanceTypeStable] && o.Zone == c.Labels[corev1.LabelTopologyZone]
			if o.Available == short {
				t.Errorf("%s in %s is available: %t", it.Name, o.Zone, o.Available)
			}
		}
	}
}

// Machines and clones without a claim are deleted. Those with a claim, those of others, and those whose node is in use
// are kept.
func TestCollect(t *testing.T) {
	w := newWorld(t)
	p, _ := w.launch(t, "kept")
	_, lost := w.launch(t, "lost")
	_, used := w.launch(t, "used")
	c := w.claim(t, "begun")
	w.endAt(t, 3, true, func(p *Provider) error { _, err := p.Create(t.Context(), c); return err })
	w.provider()
	foreign := object(gvk("Machine"), "foreign", map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{"kind": "TestMachine", "name": "foreign"}}})
	foreign.SetLabels(map[string]string{clusterapiv1alpha1.OwnerLabelKey: "another cluster", clusterapiv1alpha1.ClaimUIDLabelKey: "another claim"})
	if err := w.management.Create(t.Context(), object(infraKind("TestMachine"), "foreign", nil)); err != nil {
		t.Fatal(err)
	}
	if err := w.management.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{classLabel: "default"}}}
	node.Spec.ProviderID = used.Status.ProviderID
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod"}, Spec: corev1.PodSpec{NodeName: "node"}}
	for _, o := range []client.Object{node, pod} {
		if err := w.kube.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, gone := range []*apiv1.NodeClaim{lost, used, w.load(t, "begun")} {
		if err := w.kube.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Collector().Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"prod-kept": true, "prod-used": true, "foreign": true}
	for _, kind := range []string{"Machine", "TestMachine"} {
		k := infraKind(kind)
		if kind == "Machine" {
			k = gvk(kind)
		}
		names := w.names(t, k)
		if len(names) != len(want) {
			t.Errorf("%s: %q are left, want %v", kind, names, want)
		}
		for _, name := range names {
			if !want[name] {
				t.Errorf("%s %s is left", kind, name)
			}
		}
	}
}

// The deletion of a class waits for its claims. The conditions of a class report what is missing.
func TestStatus(t *testing.T) {
	w := newWorld(t)
	w.change(t, gvk("Cluster"), clusterName, func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{pausedAnnotation: ""}) })
	c := w.resolve(t)
	if got := condition.Get(c, clusterapiv1alpha1.ConditionTypeClusterReady); got.Reason != clusterapiv1alpha1.ReasonClusterPaused || condition.Ready(c) {
		t.Errorf("condition is %v", got)
	}
	if _, err := w.provider().InstanceTypes(t.Context(), pool()); err == nil {
		t.Error("a class that is not ready has instance types")
	}
	w.change(t, gvk("Cluster"), clusterName, func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
	for name := range sizes {
		w.change(t, gvk("MachineDeployment"), name, func(u *unstructured.Unstructured) { u.SetLabels(nil) })
	}
	c = w.resolve(t)
	if got := condition.Get(c, clusterapiv1alpha1.ConditionTypeTemplatesReady); got.Reason != clusterapiv1alpha1.ReasonNoTemplates || condition.Ready(c) {
		t.Errorf("condition is %v", got)
	}
	w = newWorld(t)
	_, claim := w.launch(t, "a")
	c = w.resolve(t)
	if err := w.kube.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.reconcileClass(t)
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, c); err != nil {
		t.Fatalf("a class that a claim uses is gone: %v", err)
	}
	if err := w.kube.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.reconcileClass(t)
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, c); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a class that no claim uses is still there: %v", err)
	}
}

func (w *world) reconcileClass(t *testing.T) {
	t.Helper()
	if _, err := w.provider().Status().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "default"}}); err != nil {
		t.Fatal(err)
	}
}

// A node is registered once Cluster API has removed its taint.
func TestRegistered(t *testing.T) {
	w := newWorld(t)
	p, c := w.launch(t, "a")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Spec.ProviderID = c.Status.ProviderID
	node.Spec.Taints = []corev1.Taint{{Key: uninitializedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	if err := w.kube.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if wait, _, err := p.Registered(t.Context(), c); wait == 0 || err != nil {
		t.Errorf("wait is %v, %v; want a pause", wait, err)
	}
	node.Spec.Taints = nil
	if err := w.kube.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if wait, _, err := p.Registered(t.Context(), c); wait != 0 || err != nil {
		t.Errorf("wait is %v, %v; want none", wait, err)
	}
}
