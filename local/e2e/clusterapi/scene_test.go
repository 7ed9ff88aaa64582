package clusterapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/clusterapi"
)

// The kinds of the management cluster.
var (
	machineKind    = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
	setKind        = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineSet"}
	deploymentKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDeployment"}
	hollowKind     = schema.GroupVersionKind{Group: clusterapi.InfrastructureGroup, Version: "v1", Kind: "HollowMachine"}
	templateKind   = schema.GroupVersionKind{Group: clusterapi.InfrastructureGroup, Version: "v1", Kind: "HollowMachineTemplate"}
	configKind     = schema.GroupVersionKind{Group: clusterapi.BootstrapGroup, Version: "v1", Kind: "HollowConfig"}
	bootstrapKind  = schema.GroupVersionKind{Group: clusterapi.BootstrapGroup, Version: "v1", Kind: "HollowConfigTemplate"}
)

// A scene has the templates, class, pool and workload of one test. They are deleted when the test ends.
type scene struct {
	t    *testing.T
	name string
}

// sizes are the CPUs of the templates; each CPU has 4 GiB of memory and costs 0.05 dollars per hour.
var sizes = map[string]int64{"large": 32, "medium": 8, "small": 4}

// newScene creates the templates, the class and the pool, and waits until the pool is ready.
func newScene(t *testing.T, name string, edit ...func(*apiv1.NodePool)) *scene {
	t.Helper()
	s := &scene{t: t, name: name}
	t.Cleanup(s.leave)
	s.put(s.object(bootstrapKind, name, map[string]any{"template": map[string]any{"spec": map[string]any{"join": "yes"}}}))
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		s.put(s.infrastructure(s.template(size), sizes[size]), s.deployment(size))
	}
	class := &clusterapiv1alpha1.ClusterAPINodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.ClusterName, class.Spec.Namespace = "local", clusterapi.Namespace
	class.Spec.MachineDeploymentSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"scene": name}}
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Labels = map[string]string{"scene": name}
	pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{
		Group: clusterapiv1alpha1.Group, Kind: clusterapiv1alpha1.Kind, Name: name,
	}
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}},
	}
	pool.Spec.Disruption.ConsolidateAfter = apiv1.NillableDuration{Duration: new(time.Duration)}
	pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
	for _, f := range edit {
		f(pool)
	}
	s.poll(func(ctx context.Context) string { // without failure domains, all Machines would be in one zone
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(deploymentKind.GroupVersion().WithKind("Cluster"))
		if err := place.Get(ctx, client.ObjectKey{Namespace: clusterapi.Namespace, Name: "local"}, u); err != nil {
			return err.Error()
		}
		domains, _, _ := unstructured.NestedSlice(u.Object, "status", "failureDomains")
		return missing(len(domains) == len(clusterapi.Zones), "the Cluster has the failure domains %v", domains)
	})
	s.put(class, pool)
	s.poll(func(ctx context.Context) string {
		if err := place.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
			return err.Error()
		}
		return missing(condition.IsTrue(pool, "Ready"), "pool has the conditions %v", pool.Status.Conditions)
	})
	return s
}

func missing(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// template returns the name of the template of a size.
func (s *scene) template(size string) string { return s.name + "-" + size }

func (s *scene) object(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(clusterapi.Namespace)
	u.SetName(name)
	u.SetLabels(map[string]string{"scene": s.name})
	return u
}

func (s *scene) infrastructure(name string, cpu int64) *unstructured.Unstructured {
	return s.object(templateKind, name, map[string]any{"template": map[string]any{"spec": map[string]any{"resources": map[string]any{
		"cpu": fmt.Sprint(cpu), "memory": fmt.Sprintf("%dGi", 4*cpu), "pods": "110",
	}}}})
}

func (s *scene) deployment(size string) *unstructured.Unstructured {
	name := s.template(size)
	u := s.object(deploymentKind, name, map[string]any{
		// In a real cluster, a webhook sets the strategy.
		"rollout":     map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1), "maxUnavailable": int64(0)}}},
		"clusterName": "local", "replicas": int64(0), "selector": map[string]any{"matchLabels": map[string]any{"deployment": name}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"deployment": name, "node.cluster.x-k8s.io/size": size}},
			"spec": map[string]any{
				"clusterName": "local", "version": "v1.36.3",
				"bootstrap":         map[string]any{"configRef": map[string]any{"apiGroup": bootstrapKind.Group, "kind": bootstrapKind.Kind, "name": s.name}},
				"infrastructureRef": map[string]any{"apiGroup": templateKind.Group, "kind": templateKind.Kind, "name": name},
			},
		},
	})
	u.SetAnnotations(map[string]string{"ext.karpenter.sh/price-per-hour": fmt.Sprint(0.05 * float64(sizes[size]))})
	return u
}

func (s *scene) put(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if err := place.Create(s.t.Context(), o); err != nil {
			s.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

func (s *scene) poll(done func(context.Context) string) {
	s.t.Helper()
	place.Poll(s.t, done)
}

// deploy creates a Deployment whose pods run on the scene's nodes.
func (s *scene) deploy(replicas int32, cpu string) {
	s.t.Helper()
	labels := map[string]string{"app": s.name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.NodeSelector = map[string]string{"scene": s.name}
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "pause", Image: "pause", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}}
	s.put(d)
}

// scale sets the number of pods.
func (s *scene) scale(replicas int32) {
	s.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := place.Patch(context.WithoutCancel(s.t.Context()), d, patch); client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
}

// change changes an object of the management cluster by a merge patch.
func (s *scene) change(kind schema.GroupVersionKind, name, patch string) {
	s.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(clusterapi.Namespace)
	u.SetName(name)
	if err := place.Patch(s.t.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		s.t.Fatal(err)
	}
}

// order sets the orders to the infrastructure; nil deletes all orders.
func (s *scene) order(orders map[string]string) {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: clusterapi.Namespace, Name: clusterapi.Orders}}
	if err := client.IgnoreNotFound(place.Delete(ctx, m)); err != nil {
		s.t.Fatal(err)
	}
	m.Data = orders
	if orders != nil {
		m.ResourceVersion = ""
		if err := place.Create(ctx, m); err != nil {
			s.t.Fatal(err)
		}
	}
}

// awaitRunning waits until n pods run, and returns the names of their nodes.
func (s *scene) awaitRunning(n int) (nodes []string) {
	s.t.Helper()
	s.poll(func(ctx context.Context) string {
		var pods corev1.PodList
		if err := place.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": s.name}); err != nil {
			return err.Error()
		}
		nodes = nil
		for i := range pods.Items {
			if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				nodes = append(nodes, p.Spec.NodeName)
			}
		}
		return missing(len(nodes) == n && len(pods.Items) == n, "%d of %d pods run, want %d", len(nodes), len(pods.Items), n)
	})
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// claims returns the scene's claims.
func (s *scene) claims(ctx context.Context) []apiv1.NodeClaim {
	s.t.Helper()
	var list apiv1.NodeClaimList
	if err := place.List(ctx, &list, client.MatchingLabels{apiv1.NodePoolLabelKey: s.name}); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// objects returns the scene's objects of a kind in the management cluster that Karpenter has created.
func (s *scene) objects(ctx context.Context, kind schema.GroupVersionKind) []unstructured.Unstructured {
	s.t.Helper()
	list := &unstructured.UnstructuredList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	if err := place.List(ctx, list, client.MatchingLabels{apiv1.NodePoolLabelKey: s.name}); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// awaitSettled waits until there are exactly n claims, all of them ready, each with one Machine that has a node, one hollow
// machine and one config. No other such objects may exist. It returns the claims.
func (s *scene) awaitSettled(n int) (claims []apiv1.NodeClaim) {
	s.t.Helper()
	s.poll(func(ctx context.Context) string {
		claims = s.claims(ctx)
		owned := map[string]int{}
		for i := range claims {
			if !condition.IsTrue(&claims[i], "Ready") || claims[i].DeletionTimestamp != nil {
				return fmt.Sprintf("claim %s has the conditions %v", claims[i].Name, claims[i].Status.Conditions)
			}
			owned[string(claims[i].UID)]++
		}
		for _, kind := range []schema.GroupVersionKind{machineKind, hollowKind, configKind} {
			all := s.objects(ctx, kind)
			seen := map[string]bool{}
			for i := range all {
				uid := all[i].GetLabels()[clusterapiv1alpha1.ClaimUIDLabelKey]
				if owned[uid] == 0 || seen[uid] {
					return fmt.Sprintf("%s %s has no claim of its own", kind.Kind, all[i].GetName())
				}
				seen[uid] = true
			}
			if len(all) != len(claims) {
				return fmt.Sprintf("%d objects of kind %s for %d claims", len(all), kind.Kind, len(claims))
			}
		}
		for _, m := range s.objects(ctx, machineKind) {
			if node, _, _ := unstructured.NestedString(m.Object, "status", "nodeRef", "name"); node == "" {
				return "Machine " + m.GetName() + " has no node"
			}
		}
		return missing(len(claims) == n, "%d claims, want %d", len(claims), n)
	})
	return claims
}

// awaitGone waits until the scene has no claims, Machines or copies of templates.
func (s *scene) awaitGone() {
	s.t.Helper()
	s.poll(func(ctx context.Context) string {
		for _, kind := range []schema.GroupVersionKind{machineKind, hollowKind, configKind} {
			if left := s.objects(ctx, kind); len(left) > 0 {
				return fmt.Sprintf("%d objects of kind %s are left, such as %s", len(left), kind.Kind, left[0].GetName())
			}
		}
		return missing(len(s.claims(ctx)) == 0, "%d claims are left", len(s.claims(ctx)))
	})
}

// types returns the number of claims by size of their template.
func types(claims []apiv1.NodeClaim) map[string]int {
	out := map[string]int{}
	for i := range claims {
		name := claims[i].Labels[corev1.LabelInstanceTypeStable]
		out[name[strings.LastIndexByte(name, '-')+1:]]++
	}
	return out
}

// leave deletes all objects of the scene.
func (s *scene) leave() {
	ctx := context.WithoutCancel(s.t.Context())
	s.order(nil)
	del := func(o client.Object) {
		if err := client.IgnoreNotFound(place.Delete(ctx, o)); err != nil {
			s.t.Error(err)
		}
	}
	del(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}})
	del(&apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
	s.awaitGone()
	class := &clusterapiv1alpha1.ClusterAPINodeClass{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	del(class)
	s.poll(func(ctx context.Context) string {
		err := place.Get(ctx, client.ObjectKey{Name: s.name}, class)
		return missing(err != nil && client.IgnoreNotFound(err) == nil, "class %s still exists (%v)", s.name, err)
	})
	for size := range sizes {
		del(s.object(deploymentKind, s.template(size), nil))
		del(s.object(templateKind, s.template(size), nil))
	}
	del(s.object(bootstrapKind, s.name, nil))
}
