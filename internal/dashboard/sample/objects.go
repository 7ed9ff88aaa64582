package sample

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

var pools = [...]string{"default", "batch", "accelerated"}

// newPool returns a NodePool that is ready.
func newPool(i int) *apiv1.NodePool {
	o := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pools[i], UID: types.UID("pool-" + pools[i])}}
	weight := int32(100 - 50*i + 1)
	o.Spec.Weight = &weight
	o.Spec.Template.Labels = map[string]string{"team": "platform"}
	o.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{apiv1.ArchitectureAmd64, apiv1.ArchitectureArm64}},
		{Key: apiv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: [][]string{
			{apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot, apiv1.CapacityTypeReserved}, {apiv1.CapacityTypeSpot}, {apiv1.CapacityTypeOnDemand},
		}[i]},
	}
	if i == 2 {
		o.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "example.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
	}
	o.Spec.Limits = apiv1.Limits{corev1.ResourceCPU: resource.MustParse(fmt.Sprint(100_000 / (i + 1)))}
	o.Spec.Disruption.ConsolidationPolicy = apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized
	nightly, hours := "0 22 * * *", apiv1.Duration{Duration: 6 * time.Hour}
	o.Spec.Disruption.Budgets = []apiv1.Budget{
		{Nodes: "10%"},
		{Nodes: "0", Schedule: &nightly, Duration: &hours, Reasons: []apiv1.DisruptionReason{apiv1.DisruptionReasonUnderutilized}},
	}
	o.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}}
	return o
}

// A machine is a node with its NodeClaim.
type machine struct {
	node  *corev1.Node
	claim *apiv1.NodeClaim
	free  model.Resources
	pods  []*corev1.Pod
}

// newMachine returns a node of the type. stage is 0 for a node that is ready, 1 for one that has joined, and 2 for one that
// is only launched.
func (f *Fleet) newMachine(pool string, t *model.InstanceType, o model.Offering, stage int, created time.Time) *machine {
	f.number++
	name := fmt.Sprintf("%s-%05d", pool, f.number)
	labels := map[string]string{
		apiv1.NodePoolLabelKey: pool, corev1.LabelTopologyZone: o.Zone, apiv1.CapacityTypeLabelKey: o.CapacityType, corev1.LabelHostname: name,
		corev1.LabelTopologyRegion: "sample",
	}
	for k, v := range t.Requirements.Labels() {
		labels[k] = v
	}
	m := &machine{free: t.Allocatable}
	m.claim = &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("claim-" + name), Labels: labels, CreationTimestamp: metav1.Time{Time: created},
	}}
	m.claim.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{t.Name, "std3.32", "std2.32", "mem2.16"}},
	}
	m.claim.Status.ProviderID = "sample:///" + name
	m.claim.Status.Capacity, m.claim.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
	condition := func(kind string, status metav1.ConditionStatus) {
		m.claim.Status.Conditions = append(m.claim.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: kind, LastTransitionTime: metav1.Time{Time: created.Add(40 * time.Second)},
		})
	}
	condition(apiv1.ConditionTypeLaunched, metav1.ConditionTrue)
	if stage == 2 {
		return m
	}
	condition(apiv1.ConditionTypeRegistered, metav1.ConditionTrue)
	own := map[string]string{apiv1.NodeRegisteredLabelKey: "true"}
	for k, v := range labels {
		own[k] = v
	}
	if stage == 0 {
		own[apiv1.NodeInitializedLabelKey] = "true"
		condition(apiv1.ConditionTypeInitialized, metav1.ConditionTrue)
	}
	m.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("node-" + name), Labels: own, CreationTimestamp: metav1.Time{Time: created},
	}}
	m.node.Spec.ProviderID = m.claim.Status.ProviderID
	m.node.Status.Capacity, m.node.Status.Allocatable = m.claim.Status.Capacity, m.claim.Status.Allocatable
	m.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: created}}}
	return m
}

// newPod returns a pod of a workload. It is pending if node is empty.
func (f *Fleet) newPod(node, namespace, kind, owner string, requests corev1.ResourceList) *corev1.Pod {
	f.number++
	name := fmt.Sprintf("%s-%06d", owner, f.number)
	yes := true
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: types.UID("pod-" + name), CreationTimestamp: metav1.Time{Time: f.clock.Now()},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: &yes}},
	}}
	o.Spec.NodeName = node
	o.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}
	o.Status.Phase = corev1.PodRunning
	if node == "" {
		o.Status.Phase = corev1.PodPending
		o.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: metav1.Time{Time: f.clock.Now()},
		}}
	}
	return o
}

func requestsOf(milli, mib, gpus int64) corev1.ResourceList {
	l := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(mib<<20, resource.BinarySI),
	}
	if gpus > 0 {
		l[gpu] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	return l
}
