package machines

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
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/clusterapi"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
)

// The kinds of the management cluster.
var (
	MachineKind    = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
	SetKind        = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineSet"}
	DeploymentKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDeployment"}
	ClusterKind    = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}
	HollowKind     = schema.GroupVersionKind{Group: clusterapi.InfrastructureGroup, Version: "v1", Kind: "HollowMachine"}
	TemplateKind   = schema.GroupVersionKind{Group: clusterapi.InfrastructureGroup, Version: "v1", Kind: "HollowMachineTemplate"}
	ConfigKind     = schema.GroupVersionKind{Group: clusterapi.BootstrapGroup, Version: "v1", Kind: "HollowConfig"}
	BootstrapKind  = schema.GroupVersionKind{Group: clusterapi.BootstrapGroup, Version: "v1", Kind: "HollowConfigTemplate"}
)

// parts are the kinds of which one object exists for each NodeClaim.
var parts = []schema.GroupVersionKind{MachineKind, HollowKind, ConfigKind}

// A Scene has the templates, class, NodePool and pods of one test. All are deleted when the test ends.
type Scene struct {
	// T is the test, and Name the prefix of the names of all objects.
	T    *testing.T
	Name string
	// Workload has the controller, the nodes and the pods. Manager is the management cluster, maybe the same.
	Workload, Manager *rig.Place
	// Sizes are the CPUs of the templates, by size. Each CPU has 4 GiB of memory and costs 0.05 dollars per hour.
	Sizes map[string]int64
	// Listed is true if the templates are in the class, and false if they are MachineDeployments.
	Listed bool
}

// Open creates the templates, the class and the NodePool, which edit may change before. It waits until the NodePool is ready.
func (s *Scene) Open(edit ...func(*apiv1.NodePool)) {
	s.T.Helper()
	s.T.Cleanup(s.close)
	s.awaitDomains()
	s.Put(s.Manager, s.Object(BootstrapKind, s.Name, map[string]any{"template": map[string]any{"spec": map[string]any{"join": "yes"}}}))
	class := &clusterapiv1alpha1.ClusterAPINodeClass{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}
	class.Spec.ClusterName, class.Spec.Namespace = cluster.Name, clusterapi.Namespace
	for _, size := range slices.Sorted(maps.Keys(s.Sizes)) {
		s.Put(s.Manager, s.Infrastructure(s.Template(size), s.Sizes[size]))
		if s.Listed {
			class.Spec.Templates = append(class.Spec.Templates, s.listed(size))
		} else {
			s.Put(s.Manager, s.deployment(size))
		}
	}
	if !s.Listed {
		class.Spec.MachineDeploymentSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"scene": s.Name}}
	}
	pool := s.Pool(s.Name, apiv1.NodeClassReference{Group: clusterapiv1alpha1.Group, Kind: clusterapiv1alpha1.Kind, Name: s.Name})
	for _, f := range edit {
		f(pool)
	}
	s.Put(s.Workload, class, pool)
	s.AwaitPool(s.Name, true)
}

// Pool returns a NodePool whose nodes have the label of the scene.
func (s *Scene) Pool(name string, class apiv1.NodeClassReference) *apiv1.NodePool {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Labels = map[string]string{"scene": s.Name}
	pool.Spec.Template.Spec.NodeClassRef = &class
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}},
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
	}
	pool.Spec.Disruption.ConsolidateAfter = apiv1.NillableDuration{Duration: new(time.Duration)}
	pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
	return pool
}

// Template returns the name of the template of a size.
func (s *Scene) Template(size string) string { return s.Name + "-" + size }

// Object returns an object of the management cluster.
func (s *Scene) Object(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(clusterapi.Namespace)
	u.SetName(name)
	u.SetLabels(map[string]string{"scene": s.Name})
	return u
}

// Infrastructure returns a template of hollow machines with the number of CPUs.
func (s *Scene) Infrastructure(name string, cpu int64) *unstructured.Unstructured {
	return s.Object(TemplateKind, name, map[string]any{"template": map[string]any{"spec": map[string]any{"resources": map[string]any{
		"cpu": fmt.Sprint(cpu), "memory": fmt.Sprintf("%dGi", 4*cpu), "pods": "110",
	}}}})
}

// listed returns the template of a size in the form of the class.
func (s *Scene) listed(size string) clusterapiv1alpha1.MachineTemplate {
	return clusterapiv1alpha1.MachineTemplate{
		Name: s.Template(size), Version: "v1.36.3",
		Bootstrap: clusterapiv1alpha1.Bootstrap{ConfigRef: &clusterapiv1alpha1.TemplateReference{
			APIGroup: BootstrapKind.Group, Kind: BootstrapKind.Kind, Name: s.Name,
		}},
		InfrastructureRef: clusterapiv1alpha1.TemplateReference{APIGroup: TemplateKind.Group, Kind: TemplateKind.Kind, Name: s.Template(size)},
		Annotations:       s.price(size),
	}
}

// deployment returns the template of a size in the form of a MachineDeployment without replicas.
func (s *Scene) deployment(size string) *unstructured.Unstructured {
	name := s.Template(size)
	u := s.Object(DeploymentKind, name, map[string]any{
		// In a real cluster, a webhook sets the strategy.
		"rollout":     map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1), "maxUnavailable": int64(0)}}},
		"clusterName": cluster.Name, "replicas": int64(0), "selector": map[string]any{"matchLabels": map[string]any{"deployment": name}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"deployment": name, "node.cluster.x-k8s.io/size": size}},
			"spec": map[string]any{
				"clusterName": cluster.Name, "version": "v1.36.3",
				"bootstrap":         map[string]any{"configRef": map[string]any{"apiGroup": BootstrapKind.Group, "kind": BootstrapKind.Kind, "name": s.Name}},
				"infrastructureRef": map[string]any{"apiGroup": TemplateKind.Group, "kind": TemplateKind.Kind, "name": name},
			},
		},
	})
	u.SetAnnotations(s.price(size))
	return u
}

func (s *Scene) price(size string) map[string]string {
	return map[string]string{clusterapiv1alpha1.PriceAnnotationKey: fmt.Sprint(0.05 * float64(s.Sizes[size]))}
}

// Put creates objects in a cluster.
func (s *Scene) Put(where client.Writer, objects ...client.Object) {
	s.T.Helper()
	for _, o := range objects {
		if err := where.Create(s.T.Context(), o); err != nil {
			s.T.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// Deploy creates a Deployment whose pods run on the scene's nodes.
func (s *Scene) Deploy(replicas int32, cpu string) {
	s.T.Helper()
	labels := map[string]string{"app": s.Name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.Name}}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.NodeSelector = map[string]string{"scene": s.Name}
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "pause", Image: "pause", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}}
	s.Put(s.Workload, d)
}

// Scale sets the replicas of the scene's Deployment. It does nothing if there is no Deployment.
func (s *Scene) Scale(replicas int32) {
	s.T.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.Name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := s.Workload.Patch(context.WithoutCancel(s.T.Context()), d, patch); client.IgnoreNotFound(err) != nil {
		s.T.Fatal(err)
	}
}

// Change changes an object of the management cluster by a merge patch.
func (s *Scene) Change(kind schema.GroupVersionKind, name, patch string) {
	s.T.Helper()
	u := s.Object(kind, name, nil)
	if err := s.Manager.Patch(s.T.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		s.T.Fatal(err)
	}
}

// Order sets the orders to the infrastructure about machines of this scene; nil deletes them. Each pattern must begin with the name
// of the scene and a dash. Orders of other scenes stay.
func (s *Scene) Order(orders map[string]string) {
	s.T.Helper()
	ctx := context.WithoutCancel(s.T.Context())
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: clusterapi.Namespace, Name: clusterapi.Orders}}
	if err := client.IgnoreAlreadyExists(s.Manager.Create(ctx, m.DeepCopy())); err != nil {
		s.T.Fatal(err)
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := s.Manager.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		all := map[string][]string{}
		for kind, patterns := range m.Data {
			all[kind] = slices.DeleteFunc(strings.Split(patterns, ","), func(p string) bool { return strings.HasPrefix(p, s.Name+"-") })
		}
		for kind, pattern := range orders {
			all[kind] = append(all[kind], pattern)
		}
		m.Data = map[string]string{}
		for kind, patterns := range all {
			if len(patterns) > 0 {
				m.Data[kind] = strings.Join(patterns, ",")
			}
		}
		return s.Manager.Update(ctx, m)
	})
	if err != nil {
		s.T.Fatal(err)
	}
}

// Stop kills the controller. Start starts it again. Both can be used during clean-up.
func (s *Scene) Stop() {
	s.T.Helper()
	if err := s.Workload.Cluster.Kill(context.WithoutCancel(s.T.Context()), cluster.ControllerName); err != nil {
		s.T.Fatal(err)
	}
}

// Start starts the controller again after Stop.
func (s *Scene) Start() {
	s.T.Helper()
	if err := s.Workload.Cluster.Up(context.WithoutCancel(s.T.Context())); err != nil {
		s.T.Fatal(err)
	}
}

// Remove deletes an object together with its finalizers.
func (s *Scene) Remove(where client.Writer, o client.Object) {
	s.T.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := client.IgnoreNotFound(where.Delete(s.T.Context(), o)); err != nil {
		s.T.Fatal(err)
	}
	if err := client.IgnoreNotFound(where.Patch(s.T.Context(), o, patch)); err != nil {
		s.T.Fatal(err)
	}
}

// close deletes all objects of the scene.
func (s *Scene) close() {
	ctx := context.WithoutCancel(s.T.Context())
	s.Order(nil)
	del := func(where client.Writer, o client.Object) {
		if err := client.IgnoreNotFound(where.Delete(ctx, o)); err != nil {
			s.T.Error(err)
		}
	}
	del(s.Workload, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.Name}})
	del(s.Workload, &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.Name}})
	s.AwaitGone()
	class := &clusterapiv1alpha1.ClusterAPINodeClass{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}
	del(s.Workload, class)
	s.AwaitDeleted(class)
	for size := range s.Sizes {
		if !s.Listed {
			del(s.Manager, s.Object(DeploymentKind, s.Template(size), nil))
		}
		del(s.Manager, s.Object(TemplateKind, s.Template(size), nil))
	}
	del(s.Manager, s.Object(BootstrapKind, s.Name, nil))
}
