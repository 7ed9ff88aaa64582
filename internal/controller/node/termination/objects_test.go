package termination

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// leavingNode returns a ready node of pool default that was deleted at epoch, two hours after its creation.
func leavingNode(change ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nodeName, UID: "node-uid", Finalizers: []string{apiv1.TerminationFinalizer},
		CreationTimestamp: metav1.NewTime(epoch.Add(-2 * time.Hour)),
		DeletionTimestamp: &metav1.Time{Time: epoch},
		Labels: map[string]string{
			"example.com/testnodeclass": "default", apiv1.NodePoolLabelKey: "default", corev1.LabelTopologyZone: "zone-a",
		},
	}}
	node.Spec.ProviderID = providerID
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, f := range change {
		f(node)
	}
	return node
}

func unready(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionUnknown }

// leavingClaim returns the claim of the node. It was deleted at epoch.
func leavingClaim(change ...func(*apiv1.NodeClaim)) *apiv1.NodeClaim {
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "claim-1", UID: "claim-uid", Finalizers: []string{apiv1.TerminationFinalizer},
		DeletionTimestamp: &metav1.Time{Time: epoch},
		Labels:            map[string]string{apiv1.NodePoolLabelKey: "default"},
	}}
	claim.Status.ProviderID, claim.Status.NodeName = providerID, nodeName
	for _, f := range change {
		f(claim)
	}
	return claim
}

// deadline sets the termination deadline of the claim to the given time after epoch.
func deadline(after time.Duration) func(*apiv1.NodeClaim) {
	return func(c *apiv1.NodeClaim) {
		c.Annotations = map[string]string{
			apiv1.NodeClaimTerminationTimestampAnnotationKey: epoch.Add(after).Format(time.RFC3339),
		}
	}
}

// pod returns an ordinary pod of the node that takes 5 s to stop.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	grace := int64(5)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid")}}
	p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = nodeName, &grace
	p.Status.Phase = corev1.PodRunning
	for _, f := range change {
		f(p)
	}
	return p
}

func daemon(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}}
}

func critical(p *corev1.Pod) { p.Spec.PriorityClassName = "system-cluster-critical" }

func tolerant(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func protected(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: value}
		p.Status.StartTime = &metav1.Time{Time: epoch.Add(-time.Minute)}
	}
}

func mounts(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
}

// attachment returns a VolumeAttachment of the volume pv to the node.
func attachment(name, pv string) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	a.Spec.NodeName, a.Spec.Source.PersistentVolumeName = nodeName, &pv
	return a
}

func volumeClaim(name, pv string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.VolumeName = pv
	return c
}
