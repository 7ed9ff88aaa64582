package sim

import (
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// supplyRules are about amounts of capacity that users state: capacity reservations, static NodePools and CapacityBuffers.
type supplyRules struct{ *judge }

// listed is how long the operator may take until it knows the size of a capacity reservation. It lists them each minute.
const listed = 2 * time.Minute

// written checks, when a replica creates a claim for a capacity reservation, that the reservation has an instance for it.
func (s supplyRules) written(before, after client.Object) {
	c, ok := after.(*apiv1.NodeClaim)
	if !ok || before != nil || s.writer() == "" {
		return
	}
	id := reservationFor(c)
	if id == "" {
		return
	}
	all := s.world.account.reservations
	n := slices.IndexFunc(all, func(r reservation) bool { return r.id == id })
	if n < 0 || min(time.Since(all[n].since), s.unhampered()) < listed {
		return // it was cancelled, or is not known yet
	}
	claims := 0
	for _, o := range kubeapi.List[*apiv1.NodeClaim](s.world.platform.server) {
		if o.DeletionTimestamp == nil && reservationFor(o) == id {
			claims++
		}
	}
	if claims > all[n].total {
		s.violate(ruleReserved, "claim %s is the %dth for reservation %s, which has %d instances", c.Name, claims, id, all[n].total)
	}
}

// reservationFor returns the capacity reservation in which a claim must be launched, empty if it need not be in one.
func reservationFor(c *apiv1.NodeClaim) string {
	for _, r := range c.Spec.Requirements {
		if r.Key == awsv1.LabelCapacityReservationID && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			return r.Values[0]
		}
	}
	return ""
}

// look checks that static NodePools have their nodes, within their limit, and that there is headroom for the pods of each CapacityBuffer.
func (s supplyRules) look() {
	joining := s.demand.joining()
	for _, p := range kubeapi.List[*apiv1.NodePool](s.world.platform.server) {
		if p.Spec.Replicas == nil || p.DeletionTimestamp != nil {
			continue
		}
		want := *p.Spec.Replicas
		if limit, ok := p.Spec.Limits["nodes"]; ok {
			want = min(want, limit.Value())
		}
		if n := s.nodesOf(p.Name); n != want && s.lasts(ruleStatic, p.Name) > recovery && !joining {
			s.violate(ruleStatic, "NodePool %s has had %d initialized nodes that are not disrupted for %s, and wants %d", p.Name, n, recovery, want)
		}
	}
	for _, b := range kubeapi.List[*autoscalingv1beta1.CapacityBuffer](s.world.platform.server) {
		template, want := s.headroomOf(b)
		have, withUnready := s.room(template, false), s.room(template, true)
		if have < want && s.lasts(ruleHeadroom, b.Name) > recovery && !joining {
			s.violate(ruleHeadroom, "there has been room for %d pods of CapacityBuffer %s for %s, and it asks for %d", have, b.Name, recovery, want)
		}
		told := meta.IsStatusConditionTrue(b.Status.Conditions, autoscalingv1beta1.ConditionTypeProvisioning)
		if told && withUnready < want && !s.behind("pods", "nodes", "capacitybuffers") && s.lastsInSpite(ruleTold, b.Name) > toldAfter {
			s.violate(ruleTold, "the condition Provisioning of CapacityBuffer %s is True, and for %s there has been room for %d pods of %d", b.Name, toldAfter, withUnready, want)
		}
	}
}

// toldAfter is how long a condition of a CapacityBuffer may be wrong.
const toldAfter = time.Minute

// nodesOf returns the number of initialized nodes of a NodePool that are neither deleted nor disrupted.
func (s supplyRules) nodesOf(pool string) (n int64) {
	for _, o := range kubeapi.List[*corev1.Node](s.world.platform.server) {
		if o.Labels[apiv1.NodePoolLabelKey] == pool && o.Labels[apiv1.NodeInitializedLabelKey] == "true" && o.DeletionTimestamp == nil &&
			!hasTaint(o, apiv1.DisruptedTaintKey) {
			n++
		}
	}
	return n
}

// headroomOf returns the template of the pods of a CapacityBuffer, and for how many of them it asks. Of spec.limits it knows cpu.
func (s supplyRules) headroomOf(b *autoscalingv1beta1.CapacityBuffer) (corev1.PodTemplateSpec, int64) {
	if ref := b.Spec.ScalableRef; ref != nil {
		d, ok := kubeapi.Find[*appsv1.Deployment](s.world.platform.server, b.Namespace, ref.Name)
		if !ok {
			return corev1.PodTemplateSpec{}, 0
		}
		percentage, replicas := int64(ptr.Deref(b.Spec.Percentage, 0)), int64(ptr.Deref(d.Spec.Replicas, 1))
		least := min(percentage, 1) // a percentage above 0 means at least one pod
		return d.Spec.Template, max(int64(ptr.Deref(b.Spec.Replicas, 0)), (percentage*replicas+99)/100, least)
	}
	if b.Spec.PodTemplateRef == nil {
		return corev1.PodTemplateSpec{}, 0
	}
	t, ok := kubeapi.Find[*corev1.PodTemplate](s.world.platform.server, b.Namespace, b.Spec.PodTemplateRef.Name)
	if !ok {
		return corev1.PodTemplateSpec{}, 0
	}
	n := int64(ptr.Deref(b.Spec.Replicas, 0))
	if one := cpuOf(&t.Template.Spec); b.Spec.Limits != nil && !b.Spec.Limits.Cpu().IsZero() && one > 0 {
		n = min(n, b.Spec.Limits.Cpu().MilliValue()/one)
	}
	return t.Template, n
}

// room returns how many pods of a template fit on the nodes that are neither deleted nor cordoned, by their cpu, memory and number of pods.
// The nodes must be Ready, or initialized if unready is true. It allows one pod per node if the template has anti-affinity.
func (s supplyRules) room(template corev1.PodTemplateSpec, unready bool) (sum int64) {
	for _, n := range kubeapi.List[*corev1.Node](s.world.platform.server) {
		if usable := nodeReady(n) || unready && n.Labels[apiv1.NodeInitializedLabelKey] == "true"; !usable {
			continue
		}
		if n.DeletionTimestamp != nil || n.Spec.Unschedulable || hasTaint(n, apiv1.DisruptedTaintKey) || !selects(template.Spec.NodeSelector, n) {
			continue
		}
		free, alike := n.Status.Allocatable.DeepCopy(), false
		for _, p := range kubeapi.List[*corev1.Pod](s.world.platform.server) {
			if p.Spec.NodeName != n.Name || ended(p) {
				continue
			}
			take(free, p.Spec.Containers)
			alike = alike || p.Labels["app"] == template.Labels["app"]
		}
		most := int64(math.MaxInt64)
		if a := template.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
			most = 1
			if alike {
				most = 0
			}
		}
		sum += min(most, fit(free, template.Spec.Containers))
	}
	return sum
}

func selects(selector map[string]string, n *corev1.Node) bool {
	for key, value := range selector {
		if n.Labels[key] != value {
			return false
		}
	}
	return true
}

// take subtracts the requests of a pod from free.
func take(free corev1.ResourceList, containers []corev1.Container) {
	for name, q := range free {
		for i := range containers {
			q.Sub(containers[i].Resources.Requests[name])
		}
		if name == corev1.ResourcePods {
			q.Sub(resource.MustParse("1"))
		}
		free[name] = q
	}
}

// fit returns how many pods with these containers fit into the free cpu, memory and number of pods.
func fit(free corev1.ResourceList, containers []corev1.Container) int64 {
	n := free.Pods().Value()
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		var each resource.Quantity
		for i := range containers {
			each.Add(containers[i].Resources.Requests[name])
		}
		if left := free[name]; each.Sign() > 0 {
			n = min(n, left.MilliValue()/each.MilliValue())
		}
	}
	return max(n, 0)
}

// planned returns the cpu that the pods of all CapacityBuffers request, in millicores.
func (s supplyRules) planned() (sum int64) {
	for _, b := range kubeapi.List[*autoscalingv1beta1.CapacityBuffer](s.world.platform.server) {
		template, n := s.headroomOf(b)
		sum = plus(sum, n*cpuOf(&template.Spec))
	}
	return sum
}
