package management

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/clusterapi"
)

// The kinds of the management cluster.
var (
	machineKind   = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
	hollowKind    = schema.GroupVersionKind{Group: clusterapi.InfrastructureGroup, Version: "v1", Kind: "HollowMachine"}
	templateKind  = schema.GroupVersionKind{Group: clusterapi.InfrastructureGroup, Version: "v1", Kind: "HollowMachineTemplate"}
	configKind    = schema.GroupVersionKind{Group: clusterapi.BootstrapGroup, Version: "v1", Kind: "HollowConfig"}
	bootstrapKind = schema.GroupVersionKind{Group: clusterapi.BootstrapGroup, Version: "v1", Kind: "HollowConfigTemplate"}
)

// account is the name of the controller's account in the management cluster, and of its role.
const account = "karpenter-of-workload"

// role has the rights that docs/clusterapi.md lists for the management cluster.
func role() *rbacv1.ClusterRole {
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: []rbacv1.PolicyRule{
		rule(machineKind.Group, []string{"clusters", "machinedeployments"}, "get", "list", "watch"),
		rule(machineKind.Group, []string{"machines"}, "get", "list", "watch", "create", "patch", "delete"),
		rule(clusterapi.InfrastructureGroup, []string{"hollowmachinetemplates"}, "get", "list", "watch"),
		rule(clusterapi.BootstrapGroup, []string{"hollowconfigtemplates"}, "get", "list", "watch"),
		rule(clusterapi.InfrastructureGroup, []string{"hollowmachines"}, "get", "list", "create", "delete"),
		rule(clusterapi.BootstrapGroup, []string{"hollowconfigs"}, "get", "list", "create", "delete"),
	}}
}

// grant gives the controller its rights in the management cluster, and writes its kubeconfig to path.
func grant(ctx context.Context, path string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: account}},
	}
	for _, o := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: account}}, role(), binding,
	} {
		if err := manager.Create(ctx, o); err != nil {
			return fmt.Errorf("grant rights: %w", err)
		}
	}
	config, err := manager.Cluster.RESTConfig()
	if err != nil {
		return err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	year := int64(365 * 24 * 60 * 60)
	token, err := typed.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &year}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("issue token: %w", err)
	}
	file, err := clientcmd.LoadFromFile(manager.Cluster.Dir().Kubeconfig())
	if err != nil {
		return err
	}
	for name := range file.AuthInfos {
		file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	return clientcmd.WriteToFile(*file, path)
}

// sizes are the CPUs of the templates; each CPU has 4 GiB of memory and costs 0.05 dollars per hour.
var sizes = map[string]int64{"large": 32, "small": 4}

// A scene has the templates, class, pool and workload of one test. They are deleted when the test ends.
type scene struct {
	t    *testing.T
	name string
}

func newScene(t *testing.T, name string) *scene {
	t.Helper()
	s := &scene{t: t, name: name}
	t.Cleanup(s.leave)
	s.put(manager, s.object(bootstrapKind, name, map[string]any{"template": map[string]any{"spec": map[string]any{"join": "yes"}}}))
	class := &clusterapiv1alpha1.ClusterAPINodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.ClusterName, class.Spec.Namespace = cluster.Name, clusterapi.Namespace
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		template := name + "-" + size
		s.put(manager, s.object(templateKind, template, map[string]any{"template": map[string]any{"spec": map[string]any{"resources": map[string]any{
			"cpu": fmt.Sprint(sizes[size]), "memory": fmt.Sprintf("%dGi", 4*sizes[size]), "pods": "110",
		}}}}))
		class.Spec.Templates = append(class.Spec.Templates, clusterapiv1alpha1.MachineTemplate{
			Name: template, Version: "v1.36.3",
			Bootstrap:         clusterapiv1alpha1.Bootstrap{ConfigRef: &clusterapiv1alpha1.TemplateReference{APIGroup: bootstrapKind.Group, Kind: bootstrapKind.Kind, Name: name}},
			InfrastructureRef: clusterapiv1alpha1.TemplateReference{APIGroup: templateKind.Group, Kind: templateKind.Kind, Name: template},
			Annotations:       map[string]string{clusterapiv1alpha1.PriceAnnotationKey: fmt.Sprint(0.05 * float64(sizes[size]))},
		})
	}
	s.put(workload, class, s.pool(name, apiv1.NodeClassReference{Group: clusterapiv1alpha1.Group, Kind: clusterapiv1alpha1.Kind, Name: name}))
	s.awaitPool(name, true)
	return s
}

// pool returns a NodePool whose nodes have the label of the scene.
func (s *scene) pool(name string, class apiv1.NodeClassReference) *apiv1.NodePool {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Labels = map[string]string{"scene": s.name}
	pool.Spec.Template.Spec.NodeClassRef = &class
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}},
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
	}
	pool.Spec.Disruption.ConsolidateAfter = apiv1.NillableDuration{Duration: new(time.Duration)}
	pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
	return pool
}

// awaitPool waits until the NodePool is ready, or is not.
func (s *scene) awaitPool(name string, ready bool) (pool *apiv1.NodePool) {
	s.t.Helper()
	pool = &apiv1.NodePool{}
	workload.Poll(s.t, func(ctx context.Context) string {
		if err := workload.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
			return err.Error()
		}
		return missing(condition.Ready(pool) == ready, "NodePool %s has the conditions %+v, want ready %t", name, pool.Status.Conditions, ready)
	})
	return pool
}

func missing(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (s *scene) object(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(clusterapi.Namespace)
	u.SetName(name)
	return u
}

func (s *scene) put(where client.Writer, objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if err := where.Create(s.t.Context(), o); err != nil {
			s.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
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
	s.put(workload, d)
}

func (s *scene) scale(replicas int32) {
	s.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := workload.Patch(context.WithoutCancel(s.t.Context()), d, patch); client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
}

// awaitRunning waits until n pods run.
func (s *scene) awaitRunning(n int) {
	s.t.Helper()
	workload.Poll(s.t, func(ctx context.Context) string {
		var pods corev1.PodList
		if err := workload.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": s.name}); err != nil {
			return err.Error()
		}
		running := 0
		for i := range pods.Items {
			if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				running++
			}
		}
		return missing(running == n && len(pods.Items) == n, "%d of %d pods run, want %d", running, len(pods.Items), n)
	})
}

// claims returns the claims of the scene's NodePool, or of another one.
func (s *scene) claims(ctx context.Context, pool string) []apiv1.NodeClaim {
	s.t.Helper()
	var list apiv1.NodeClaimList
	if err := workload.List(ctx, &list, client.MatchingLabels{apiv1.NodePoolLabelKey: pool}); err != nil {
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
	if err := manager.List(ctx, list, client.MatchingLabels{apiv1.NodePoolLabelKey: s.name}); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// awaitSettled waits until there are exactly the claims of these sizes, all ready, each with one Machine, one hollow machine and
// one config in the management cluster and a node in the workload cluster.
func (s *scene) awaitSettled(want ...string) (claims []apiv1.NodeClaim) {
	s.t.Helper()
	slices.Sort(want)
	workload.Poll(s.t, func(ctx context.Context) string {
		claims = s.claims(ctx, s.name)
		owned, got := map[string]bool{}, []string{}
		for i := range claims {
			if !condition.IsTrue(&claims[i], "Ready") || claims[i].DeletionTimestamp != nil {
				return fmt.Sprintf("claim %s has the conditions %+v", claims[i].Name, claims[i].Status.Conditions)
			}
			owned[string(claims[i].UID)] = true
			got = append(got, strings.TrimPrefix(claims[i].Labels[corev1.LabelInstanceTypeStable], s.name+"-"))
			if err := workload.Get(ctx, client.ObjectKey{Name: claims[i].Status.NodeName}, &corev1.Node{}); err != nil {
				return err.Error()
			}
		}
		for _, kind := range []schema.GroupVersionKind{machineKind, hollowKind, configKind} {
			all := s.objects(ctx, kind)
			seen := map[string]bool{}
			for i := range all {
				seen[all[i].GetLabels()[clusterapiv1alpha1.ClaimUIDLabelKey]] = true
			}
			if len(all) != len(claims) || !maps.Equal(seen, owned) {
				return fmt.Sprintf("%d objects of kind %s for %d claims", len(all), kind.Kind, len(claims))
			}
		}
		slices.Sort(got)
		return missing(slices.Equal(got, want), "claims are of the sizes %v, want %v", got, want)
	})
	return claims
}

// awaitGone waits until the scene has no claims, Machines, copies of templates or nodes.
func (s *scene) awaitGone() {
	s.t.Helper()
	workload.Poll(s.t, func(ctx context.Context) string {
		for _, kind := range []schema.GroupVersionKind{machineKind, hollowKind, configKind} {
			if left := s.objects(ctx, kind); len(left) > 0 {
				return fmt.Sprintf("%d objects of kind %s are left, such as %s", len(left), kind.Kind, left[0].GetName())
			}
		}
		var nodes corev1.NodeList
		if err := workload.List(ctx, &nodes, client.MatchingLabels{"scene": s.name}); err != nil {
			return err.Error()
		}
		return missing(len(s.claims(ctx, s.name)) == 0 && len(nodes.Items) == 0, "%d claims and %d nodes are left", len(s.claims(ctx, s.name)), len(nodes.Items))
	})
}

// stop kills the controller. start starts it again.
func (s *scene) stop() {
	s.t.Helper()
	if err := workload.Cluster.Kill(context.WithoutCancel(s.t.Context()), cluster.ControllerName); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) start() {
	s.t.Helper()
	if err := workload.Cluster.Up(context.WithoutCancel(s.t.Context())); err != nil {
		s.t.Fatal(err)
	}
}

// allow sets which verbs the controller has for an API group of the management cluster, besides reading.
func (s *scene) allow(group string, verbs ...string) {
	s.t.Helper()
	now := role()
	for i := range now.Rules {
		if now.Rules[i].APIGroups[0] == group && slices.Contains(now.Rules[i].Verbs, "create") {
			now.Rules[i].Verbs = append([]string{"get", "list", "watch"}, verbs...)
		}
	}
	if err := manager.Update(context.WithoutCancel(s.t.Context()), now); err != nil {
		s.t.Fatal(err)
	}
}

// leave deletes all objects of the scene.
func (s *scene) leave() {
	ctx := context.WithoutCancel(s.t.Context())
	del := func(where client.Writer, o client.Object) {
		if err := client.IgnoreNotFound(where.Delete(ctx, o)); err != nil {
			s.t.Error(err)
		}
	}
	del(workload, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}})
	del(workload, &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
	s.awaitGone()
	class := &clusterapiv1alpha1.ClusterAPINodeClass{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	del(workload, class)
	workload.Poll(s.t, func(ctx context.Context) string {
		err := workload.Get(ctx, client.ObjectKey{Name: s.name}, class)
		return missing(err != nil && client.IgnoreNotFound(err) == nil, "class %s still exists (%v)", s.name, err)
	})
	for size := range sizes {
		del(manager, s.object(templateKind, s.name+"-"+size, nil))
	}
	del(manager, s.object(bootstrapKind, s.name, nil))
}
