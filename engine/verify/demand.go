package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
	helper "k8s.io/component-helpers/scheduling/corev1"
)

// amounts are resources by name: millicores of cpu, whole units of all else.
type amounts map[corev1.ResourceName]int64

// A demand is what a pod asks of a node.
type demand struct {
	key         string
	requests    amounts // with one of "pods"
	ports       []corev1.ContainerPort
	tolerations []corev1.Toleration
	selector    *selector // nil if the pod takes any node
	volumes     []*attachment
}

// demandOf reads a pod that is to be placed.
func (ps *places) demandOf(pod *corev1.Pod) *demand {
	d := demandOfBound(pod)
	d.selector = ps.selectorOf(pod)
	return d
}

// demandOfBound reads a pod that has its place, wherever it wanted to go.
func demandOfBound(pod *corev1.Pod) *demand {
	d := &demand{
		key:         pod.Namespace + "/" + pod.Name,
		requests:    requestsOf(pod),
		tolerations: pod.Spec.Tolerations,
	}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, sidecars(pod.Spec.InitContainers)} {
		for _, container := range containers {
			for _, port := range container.Ports {
				if port.HostPort > 0 {
					d.ports = append(d.ports, port)
				}
			}
		}
	}
	return d
}

// sidecars returns the init containers that keep running.
func sidecars(init []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for _, c := range init {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			out = append(out, c)
		}
	}
	return out
}

// demandOfDaemon reads the pod that set puts on a node: what is limited and not
// requested is requested, as the API server fills it in, and the taints that the
// DaemonSet controller has its pods tolerate are tolerated.
func (ps *places) demandOfDaemon(set *appsv1.DaemonSet) *demand {
	pod := &corev1.Pod{Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = set.Namespace, set.Name
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			requests := maps.Clone(r.Limits)
			if requests == nil {
				requests = corev1.ResourceList{}
			}
			maps.Copy(requests, r.Requests)
			r.Requests = requests
		}
	}
	tolerated := []corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}
	if pod.Spec.HostNetwork {
		tolerated = append(tolerated, corev1.Taint{
			Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	for _, t := range tolerated {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: t.Key, Effect: t.Effect, Operator: corev1.TolerationOpExists,
		})
	}
	return ps.demandOf(pod)
}

// requestsOf returns what kube-scheduler would count for pod.
func requestsOf(pod *corev1.Pod) amounts {
	out := amountsOf(resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true}))
	out[corev1.ResourcePods]++
	return out
}

// ceiling is the largest amount that is told apart; every larger one, and every larger sum, counts as much. Below it
// quantities convert to int64 without wrapping.
const ceiling = 1 << 53

// mostCPU and most are the quantities of ceiling millicores and of ceiling units.
var (
	mostCPU = apiresource.NewMilliQuantity(ceiling, apiresource.DecimalSI)
	most    = apiresource.NewQuantity(ceiling, apiresource.DecimalSI)
)

// amountsOf converts requests, fractions rounded up.
func amountsOf(list corev1.ResourceList) amounts {
	out := make(amounts, len(list))
	for name, q := range list {
		switch {
		case name == corev1.ResourceCPU && q.Cmp(*mostCPU) < 0:
			out[name] = max(q.MilliValue(), -ceiling)
		case name != corev1.ResourceCPU && q.Cmp(*most) < 0:
			out[name] = max(q.Value(), -ceiling)
		default:
			out[name] = ceiling
		}
	}
	return out
}

// add adds o to a. Sums stay between -ceiling and ceiling.
func (a amounts) add(o amounts) {
	for name, v := range o {
		a[name] = max(-ceiling, min(a[name]+max(-ceiling, min(v, ceiling)), ceiling))
	}
}

// subtract takes o out of a. Differences stay between -ceiling and ceiling.
func (a amounts) subtract(o amounts) {
	for name, v := range o {
		a[name] = max(-ceiling, min(a[name]-max(-ceiling, min(v, ceiling)), ceiling))
	}
}

// names returns the names in order.
func (a amounts) names() []corev1.ResourceName { return slices.Sorted(maps.Keys(a)) }

// untolerated returns the first taint that keeps the pod off a node, if any.
// PreferNoSchedule does not.
func (d *demand) untolerated(taints []corev1.Taint) (corev1.Taint, bool) {
	for i := range taints {
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(d.tolerations, &taints[i]) {
			return taints[i], true
		}
	}
	return corev1.Taint{}, false
}

// tolerated writes down what the pod tolerates.
func (d *demand) tolerated() string {
	var b strings.Builder
	for _, t := range d.tolerations {
		fmt.Fprintf(&b, "%s %s %q %s\n", t.Key, t.Operator, t.Value, t.Effect)
	}
	return b.String()
}

// tolerates is the scheduler's helper, without the numeric operators that are still
// behind a feature gate.
func tolerates(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	return quietly(helper.TolerationsTolerateTaint, tolerations, taint)
}

// quietly calls f with the zero logger, which drops everything. Its type is inferred,
// so that no logger need be imported here.
func quietly[Logger any](
	f func(Logger, []corev1.Toleration, *corev1.Taint, bool) bool,
	tolerations []corev1.Toleration, taint *corev1.Taint,
) bool {
	var none Logger
	return f(none, tolerations, taint, false)
}

// clash returns the first host port that both d and o claim.
func (d *demand) clash(o *demand) (int32, bool) {
	for _, p := range d.ports {
		for _, q := range o.ports {
			if p.HostPort == q.HostPort && protocol(p) == protocol(q) &&
				(anyIP(p.HostIP) || anyIP(q.HostIP) || p.HostIP == q.HostIP) {
				return p.HostPort, true
			}
		}
	}
	return 0, false
}

func protocol(p corev1.ContainerPort) corev1.Protocol {
	if p.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return p.Protocol
}

func anyIP(ip string) bool { return ip == "" || ip == "0.0.0.0" }
