package rawpods

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Ordinary is a namespace with pods that have small requests and no constraints about other pods.
const Ordinary = "ordinary"

// Tenants are the namespaces of the pods that are derived from bytes.
var Tenants = []string{"tenant-a", "tenant-b"}

// Pod returns the i-th pod derived from b. It is provisionable unless some of its fields prevent that.
func (b *Bytes) Pod(i int) *corev1.Pod {
	name := fmt.Sprintf("p%d", i)
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Pick(b, Tenants...), Name: name, UID: types.UID(name)}}
	o.Labels = b.labels()
	s := &o.Spec
	s.Containers = b.containers("c", 1+b.below(2))
	if b.flag(2) {
		b.rules(s)
	}
	if b.flag(2) {
		b.extras(o)
	}
	s.TopologySpreadConstraints = b.spread()
	o.Status.Phase = corev1.PodPending
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return o
}

// rules sets node selectors, node affinity, pod affinity and related constraints.
func (b *Bytes) rules(s *corev1.PodSpec) {
	for range b.below(3) / 2 {
		key := Pick(b, nodeKeys...)
		s.NodeSelector = map[string]string{key: Pick(b, valuesOf[key]...)}
	}
	a := &corev1.Affinity{}
	if b.flag(3) {
		a.NodeAffinity = b.nodeAffinity()
	}
	if b.flag(3) {
		a.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  b.terms(),
			PreferredDuringSchedulingIgnoredDuringExecution: b.weighted(),
		}
	}
	if b.flag(3) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  b.terms(),
			PreferredDuringSchedulingIgnoredDuringExecution: b.weighted(),
		}
	}
	if *a != (corev1.Affinity{}) {
		s.Affinity = a
	}
}

// extras sets fields that few pods have, such as init containers and overhead.
func (b *Bytes) extras(o *corev1.Pod) {
	s := &o.Spec
	if n := b.below(3); n > 0 {
		s.InitContainers = b.containers("i", n)
		for i := range s.InitContainers {
			if b.flag(2) {
				always := corev1.ContainerRestartPolicyAlways
				s.InitContainers[i].RestartPolicy = &always
			}
		}
	}
	if b.flag(4) {
		s.Overhead = corev1.ResourceList{corev1.ResourceCPU: b.quantity(), corev1.ResourceMemory: b.quantity()}
	}
	for i, port := range some(b, int32(1), 80) {
		s.Containers[0].Ports = append(s.Containers[0].Ports, corev1.ContainerPort{
			Name: fmt.Sprintf("p%d", i), ContainerPort: port, HostPort: port, Protocol: Pick(b, corev1.ProtocolTCP, corev1.ProtocolUDP),
			HostIP: Pick(b, "", "0.0.0.0", "127.0.0.1", "::1"),
		})
	}
	if b.flag(3) {
		s.Volumes = b.volumes()
	}
	s.Tolerations = b.tolerations()
	if b.flag(3) {
		priority := Pick(b, int32(0), 1, -1, 1_000_000_000, math.MinInt32)
		s.Priority = &priority
	}
	if b.flag(3) {
		grace := Pick(b, int64(0), 30, 10_000_000_000, 9_223_372_037, math.MaxInt64)
		s.TerminationGracePeriodSeconds = &grace
	}
	if b.flag(8) {
		s.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: new(string)}}
	}
	if b.flag(8) {
		s.SchedulerName = "other"
	}
	if b.flag(4) {
		yes := true
		kind := Pick(b, "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "owner", UID: "owner", Controller: &yes}}
	}
	if value := Pick(b, "", "", "true", "1h", "-1h", "2562047h", "soon"); value != "" {
		o.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: value}
	}
	o.Status.NominatedNodeName = Pick(b, "", "", "node-0", "gone")
}

// labelValues are the values of the labels app and version.
var labelValues = []string{"", "x", "y", "z"}

func (b *Bytes) labels() map[string]string {
	labels := map[string]string{}
	for _, key := range []string{"app", "version"} {
		if v := Pick(b, labelValues...); v != "" {
			labels[key] = v
		}
	}
	return labels
}

// tolerations returns up to two tolerations. As the API server requires, a toleration with operator Exists has no
// value, one with an empty key has the operator Exists, and one with seconds has the effect NoExecute.
func (b *Bytes) tolerations() []corev1.Toleration {
	var out []corev1.Toleration
	for range b.below(3) {
		t := corev1.Toleration{
			Key: Pick(b, "team", "other", apiv1.DisruptedTaintKey, ""), Operator: Pick(b, corev1.TolerationOpExists, corev1.TolerationOpEqual, ""),
			Effect: Pick(b, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule, ""),
		}
		if t.Key == "" {
			t.Operator = corev1.TolerationOpExists
		}
		if t.Operator != corev1.TolerationOpExists {
			t.Value = Pick(b, "", "blue")
		}
		if t.Effect == corev1.TaintEffectNoExecute && b.flag(2) {
			seconds := Pick(b, int64(0), -1, math.MaxInt64)
			t.TolerationSeconds = &seconds
		}
		out = append(out, t)
	}
	return out
}

// volumes returns volumes of PersistentVolumeClaims, some of which do not exist, and ephemeral volumes.
func (b *Bytes) volumes() []corev1.Volume {
	var out []corev1.Volume
	for i, claim := range some(b, "disk-a", "disk-any", "missing") {
		out = append(out, corev1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	if b.flag(4) {
		class := Pick(b, "wait", "gone")
		out = append(out, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}},
		}}})
	}
	return out
}

// spread returns topology spread constraints. No two have the same topology key and whenUnsatisfiable.
func (b *Bytes) spread() []corev1.TopologySpreadConstraint {
	var out []corev1.TopologySpreadConstraint
	for range b.below(3) {
		c := corev1.TopologySpreadConstraint{
			TopologyKey: Pick(b, topologyKeys...), MaxSkew: Pick(b, int32(1), 2, math.MaxInt32),
			WhenUnsatisfiable: Pick(b, corev1.DoNotSchedule, corev1.ScheduleAnyway), LabelSelector: b.selector(),
		}
		if least := Pick(b, int32(0), 1, 3, math.MaxInt32); least > 0 && c.WhenUnsatisfiable == corev1.DoNotSchedule {
			c.MinDomains = &least
		}
		if b.flag(3) {
			affinity, taints := Pick(b, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore), Pick(b, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
			c.NodeAffinityPolicy, c.NodeTaintsPolicy = &affinity, &taints
		}
		if b.flag(4) && c.LabelSelector != nil {
			c.MatchLabelKeys = []string{"version"}
		}
		if !slices.ContainsFunc(out, func(o corev1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}) {
			out = append(out, c)
		}
	}
	return out
}
