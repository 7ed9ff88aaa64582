package verify

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

const family = "example.com/family"

// A story is a small cluster and a correct plan for it. Tests break a rule by changing the cluster before it is compiled, or
// the plan afterwards.
//
// The plan places pods web-1 and web-2, which require zone a, on a new node of type small or large. It places web-3 on the
// existing node old, and web-4 on claim wish, which is not launched yet. It refuses pod huge, which fits on no node.
type story struct {
	pool        *apiv1.NodePool
	small       *model.InstanceType // 4 cores
	large       *model.InstanceType // 8 cores
	old         *corev1.Node
	wish        *apiv1.NodeClaim
	web         [4]*corev1.Pod
	huge, there *corev1.Pod // pod there runs on node old
	agent       *appsv1.DaemonSet
	around      model.Delta // further objects, such as volumes and namespaces
}

func newStory() *story {
	st := &story{
		pool:  newPool(),
		small: newType("m.small", "m", 4000, 0.10),
		large: newType("c.large", "c", 8000, 0.20),
		huge:  newPod("huge", "64"),
		there: newPod("there", "1"),
		agent: &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "agent"}},
	}
	for i, name := range []string{"web-1", "web-2", "web-3", "web-4"} {
		st.web[i] = newPod(name, "1500m")
	}
	st.web[0].Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
	st.web[1].Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
	st.there.Spec.NodeName = "old"
	st.there.Status = corev1.PodStatus{Phase: corev1.PodRunning}
	st.agent.Spec.Template.Spec = newPod("", "200m").Spec

	labels := map[string]string{
		apiv1.NodePoolLabelKey: "default", "team": "web", corev1.LabelTopologyZone: "b",
		apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
	}
	st.old = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "old", Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: "id-old", Taints: st.pool.Spec.Template.Spec.Taints},
		Status: corev1.NodeStatus{
			Capacity:    list("cpu", "4", "memory", "8Gi", "pods", "20"),
			Allocatable: list("cpu", "3900m", "memory", "7Gi", "pods", "20"),
		},
	}
	st.wish = &apiv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "wish", Labels: map[string]string{
			apiv1.NodePoolLabelKey: "default", "team": "web",
		}},
		Spec: apiv1.NodeClaimSpec{
			Taints: st.pool.Spec.Template.Spec.Taints,
			Requirements: []apiv1.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelInstanceTypeStable, Operator: require.In, Values: []string{"m.small"}},
				{Key: corev1.LabelTopologyZone, Operator: require.In, Values: []string{"a", "b"}},
			},
		},
	}
	return st
}

func newPool() *apiv1.NodePool {
	two := 2
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Limits = apiv1.Limits(list("cpu", "100", "nodes", "3"))
	pool.Spec.Template.Labels = map[string]string{"team": "web"}
	pool.Spec.Template.Spec.Taints = []corev1.Taint{
		{Key: "dedicated", Value: "web", Effect: corev1.TaintEffectNoSchedule},
		{Key: "rather-not", Effect: corev1.TaintEffectPreferNoSchedule},
	}
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelArchStable, Operator: require.In, Values: []string{"amd64"}},
		{Key: apiv1.CapacityTypeLabelKey, Operator: require.NotIn, Values: []string{"reserved"}},
		{Key: corev1.LabelTopologyZone, Operator: require.In, Values: []string{"a", "b"}},
		{Key: family, Operator: require.Exists, MinValues: &two},
		{Key: "shift", Operator: require.In, Values: []string{"day", "night"}},
	}
	pool.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	return pool
}

// newType returns a type with cpu millicores and 2 GiB per core, in zones a, b and c. price is that of its on-demand offering
// in zone a. A spot offering costs half, and a cent more in zone b. The spot offering in zone a is not available.
func newType(name, fam string, cpu int64, price float64) *model.InstanceType {
	offering := func(zone, capacity string, price float64, available bool) model.Offering {
		return model.Offering{Zone: zone, CapacityType: capacity, Price: price, Available: available,
			Requirements: require.FromLabels(map[string]string{
				corev1.LabelTopologyZone: zone, apiv1.CapacityTypeLabelKey: capacity,
			})}
	}
	capacity := model.Resources{corev1.ResourceCPU: cpu, corev1.ResourceMemory: cpu * 2 << 20, corev1.ResourcePods: 20}
	return &model.InstanceType{
		Name: name,
		Requirements: require.NewSet(
			require.New(corev1.LabelInstanceTypeStable, require.In, name),
			require.New(corev1.LabelArchStable, require.In, "amd64"),
			require.New(corev1.LabelOSStable, require.In, "linux"),
			require.New(corev1.LabelTopologyZone, require.In, "a", "b", "c"),
			require.New(apiv1.CapacityTypeLabelKey, require.In, "spot", "on-demand"),
			require.New(family, require.In, fam),
			require.New("example.com/gpu", require.DoesNotExist),
		),
		Offerings: []model.Offering{
			offering("a", "spot", price/2, false),
			offering("a", "on-demand", price, true),
			offering("b", "spot", price/2+0.01, true),
			offering("c", "spot", price/2, true),
		},
		Capacity:    capacity,
		Allocatable: capacity.Minus(model.Resources{corev1.ResourceCPU: 100}),
	}
}

func newPod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: list("cpu", cpu), Limits: list("cpu", cpu, "memory", "64Mi"),
			}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

// list returns a resource list. pairs alternates names and quantities.
func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// told compiles the cluster and returns the snapshot and the plan.
func (st *story) told(t *testing.T) (*model.Snapshot, *model.Plan) {
	t.Helper()
	s := model.Compile(model.Delta{
		Pods:    append(st.web[:], st.huge, st.there),
		Nodes:   []*corev1.Node{st.old},
		Claims:  []*apiv1.NodeClaim{st.wish},
		Pools:   []*apiv1.NodePool{st.pool},
		Daemons: []*appsv1.DaemonSet{st.agent},
		Types:   map[string][]*model.InstanceType{"default": {st.small, st.large}},
	}).Apply(st.around)
	var pods [5]*model.Pod
	for i, name := range []string{"web-1", "web-2", "web-3", "web-4", "huge"} {
		p, ok := s.Pods.Get("default/" + name)
		if !ok {
			t.Fatalf("no pod %s", name)
		}
		pods[i] = p
	}
	pool, _ := s.Pool("default")
	old, _ := s.NodeByName("old")
	wish, _ := s.NodeByName("wish")
	daemon := s.Daemons()[0].Pod.Requests
	return s, &model.Plan{
		Placements: []model.Placement{{Node: old, Pods: pods[2:3]}, {Node: wish, Pods: pods[3:4]}},
		Nodes: []model.PlannedNode{{
			Pool: pool,
			Requirements: pool.Requirements.With(
				require.New(corev1.LabelTopologyZone, require.In, "a"),
				require.New("shift", require.In, "day"),
			),
			Options:  []*model.InstanceType{st.small, st.large},
			Offering: st.small.Offerings[1],
			Pods:     pods[:2],
			Requests: pods[0].Requests.Plus(pods[1].Requests).Plus(daemon),
		}},
		Refusals: []model.Refusal{{Pods: pods[4:5], Reasons: []model.PoolVerdict{{
			Pool: "default", Verdict: model.Verdict{Rule: model.RuleResources, Resource: corev1.ResourceCPU, By: 1},
		}}}},
		Price: 0.10,
		Floor: 0.08,
	}
}
