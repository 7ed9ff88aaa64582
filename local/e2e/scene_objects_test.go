package e2e

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// discovery returns the tag of the cluster's subnets and security groups.
func discovery() map[string]string { return map[string]string{"karpenter.sh/discovery": cluster.Name} }

// nodeClass returns a valid node class.
func nodeClass(name string) *awsv1.EC2NodeClass {
	return &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: awsv1.EC2NodeClassSpec{
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			Role:                       "KarpenterNodeRole-local",
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: discovery()}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery()}},
		},
	}
}

// class creates the scene's node class.
func (s *scene) class() {
	s.t.Helper()
	s.put(nodeClass(s.name))
}

func (s *scene) removeClass(ctx context.Context) {
	s.remove(ctx, nodeClass(s.name))
	var classes awsv1.EC2NodeClassList
	s.await(&classes, func() string { return leftOver("node classes", len(classes.Items)) },
		client.MatchingFields{"metadata.name": s.name})
}

// pool creates a pool of on-demand types that meet the requirements need. Its nodes stay until they are deleted, unless change
// says otherwise.
func (s *scene) pool(name string, need []apiv1.NodeSelectorRequirementWithMinValues, change ...func(*apiv1.NodePool)) {
	s.t.Helper()
	pool := &apiv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiv1.NodePoolSpec{
			Template: apiv1.NodeClaimTemplate{
				ObjectMeta: apiv1.ObjectMeta{Labels: map[string]string{sceneKey: s.name}},
				Spec: apiv1.NodeClaimTemplateSpec{
					Taints:       []corev1.Taint{{Key: sceneKey, Value: s.name, Effect: corev1.TaintEffectNoSchedule}},
					Requirements: append(need, in(apiv1.CapacityTypeLabelKey, "on-demand")),
					NodeClassRef: &apiv1.NodeClassReference{
						Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: s.name,
					},
				},
			},
		},
	}
	for _, c := range change {
		c(pool)
	}
	s.pools = append(s.pools, name)
	s.put(pool)
}

type needs = []apiv1.NodeSelectorRequirementWithMinValues

// in returns the requirement that the label has one of the values.
func in(key string, values ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// family, typesOf and zones return requirements on instance types and zones.
func family(name string) apiv1.NodeSelectorRequirementWithMinValues {
	return in("karpenter.k8s.aws/instance-family", name)
}

func typesOf(names ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return in(corev1.LabelInstanceTypeStable, names...)
}

func zones(names ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return in(corev1.LabelTopologyZone, names...)
}

// deploy creates a Deployment with the given number of pods and CPU request. The pods run only on nodes of the scene.
func (s *scene) deploy(name string, replicas int, cpu string, change ...func(*corev1.PodSpec)) {
	s.t.Helper()
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To(int64(0)),
		NodeSelector:                  map[string]string{sceneKey: s.name},
		Tolerations: []corev1.Toleration{{
			Key: sceneKey, Operator: corev1.TolerationOpEqual, Value: s.name, Effect: corev1.TaintEffectNoSchedule,
		}},
		Containers: []corev1.Container{{
			Name: "main", Image: "pause",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Mi"),
			}},
		}},
	}
	for _, c := range change {
		c(&spec)
	}
	labels := map[string]string{"app": name}
	s.put(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	})
}

// partKey is a label that distinguishes the pools of one scene.
const partKey = "e2e.example.com/part"

// part returns the requirement of a pool, and toPart the node selector of pods for that pool.
func part(name string) apiv1.NodeSelectorRequirementWithMinValues { return in(partKey, name) }

func toPart(name string) func(*corev1.PodSpec) {
	return func(p *corev1.PodSpec) { p.NodeSelector[partKey] = name }
}

// lively returns a change of a pool: consolidateAfter is zero, and the pool has the given budgets.
func lively(budgets ...apiv1.Budget) func(*apiv1.NodePool) {
	return func(p *apiv1.NodePool) {
		p.Spec.Disruption = apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: budgets,
		}
	}
}

// change updates a pool.
func (s *scene) change(name string, change func(*apiv1.NodePool)) {
	s.t.Helper()
	pool := &apiv1.NodePool{}
	if err := s.Get(s.t.Context(), client.ObjectKey{Name: name}, pool); err != nil {
		s.t.Fatal(err)
	}
	before := pool.DeepCopy()
	change(pool)
	if err := s.Patch(s.t.Context(), pool, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// resize sets the replicas of a Deployment.
func (s *scene) resize(name string, replicas int) {
	s.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := s.Patch(s.t.Context(), d, patch); err != nil {
		s.t.Fatal(err)
	}
}

// instancesOf returns the instance types of a pool's claims, sorted.
func (s *scene) instancesOf(pool string) []string {
	s.t.Helper()
	var types []string
	for _, c := range s.claims() {
		if c.Labels[apiv1.NodePoolLabelKey] == pool {
			types = append(types, c.Labels[corev1.LabelInstanceTypeStable])
		}
	}
	slices.Sort(types)
	return types
}

// guard creates a PodDisruptionBudget that allows no eviction of the pods of a Deployment.
func (s *scene) guard(deployment string, pods int) *policyv1.PodDisruptionBudget {
	s.t.Helper()
	all := intstr.FromInt(pods)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: deployment, Namespace: s.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &all,
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": deployment}},
		},
	}
	s.put(budget)
	var budgets policyv1.PodDisruptionBudgetList
	s.await(&budgets, func() string {
		if len(budgets.Items) == 1 && budgets.Items[0].Status.CurrentHealthy == int32(pods) {
			return ""
		}
		return "the budget does not count the pods of " + deployment
	}, client.InNamespace(s.name))
	return budget
}
