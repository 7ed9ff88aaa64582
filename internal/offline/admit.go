package offline

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/internal/manifest"
)

// limits applies to pods the defaults of the API server and its admission plugins that affect scheduling: requests from
// limits and LimitRanges, priorities, overhead of RuntimeClasses, host ports.
type limits struct {
	priorities map[string]int32
	// standard is the priority of pods without a PriorityClass.
	standard int32
	runtimes map[string]*nodev1.RuntimeClass
	// ranges are the defaults for containers, by namespace.
	ranges map[string][]corev1.LimitRangeItem
	// unknown maps PriorityClasses that pods use although the input does not have them to the consequence, for a warning.
	unknown map[string]string
}

func newLimits(set *manifest.Set) limits {
	l := limits{
		priorities: map[string]int32{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000},
		runtimes:   map[string]*nodev1.RuntimeClass{},
		ranges:     map[string][]corev1.LimitRangeItem{},
		unknown:    map[string]string{},
	}
	for _, c := range manifest.Of[*schedulingv1.PriorityClass](set) {
		l.priorities[c.Name] = c.Value
		if c.GlobalDefault {
			l.standard = c.Value
		}
	}
	for _, c := range manifest.Of[*nodev1.RuntimeClass](set) {
		l.runtimes[c.Name] = c
	}
	for _, r := range manifest.Of[*corev1.LimitRange](set) {
		for _, item := range r.Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				l.ranges[r.Namespace] = append(l.ranges[r.Namespace], item)
			}
		}
	}
	return l
}

// admit applies the defaults to spec, for a pod in the namespace. It is idempotent.
func (l *limits) admit(spec *corev1.PodSpec, namespace string) {
	l.prioritize(spec)
	if r := spec.RuntimeClassName; r != nil && l.runtimes[*r] != nil {
		l.wrap(spec, l.runtimes[*r])
	}
	if spec.HostNetwork || len(l.ranges[namespace]) > 0 {
		own(spec) // equal pods share their containers, and the defaults of their namespaces may differ
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			fill(&c.Resources.Requests, c.Resources.Limits)
			for _, item := range l.ranges[namespace] {
				fill(&c.Resources.Limits, item.Default)
				fill(&c.Resources.Requests, item.DefaultRequest)
				fill(&c.Resources.Requests, c.Resources.Limits)
			}
			openPorts(c.Ports, spec.HostNetwork)
		}
	}
	if spec.Resources != nil {
		fill(&spec.Resources.Requests, spec.Resources.Limits)
	}
}

// own replaces the containers that spec shares with other pods by copies. Init containers are not shared.
func own(spec *corev1.PodSpec) {
	copied := make([]corev1.Container, len(spec.Containers))
	for i := range spec.Containers {
		spec.Containers[i].DeepCopyInto(&copied[i])
	}
	spec.Containers = copied
}

func (l *limits) prioritize(spec *corev1.PodSpec) {
	if spec.Priority != nil {
		return
	}
	v := l.standard
	if name := spec.PriorityClassName; name != "" {
		known := false
		if v, known = l.priorities[name]; !known {
			l.unknown["PriorityClass "+name] = "its pods have priority 0"
		}
	}
	spec.Priority = &v
}

// wrap adds the overhead, node selector and tolerations of a RuntimeClass.
func (l *limits) wrap(spec *corev1.PodSpec, class *nodev1.RuntimeClass) {
	if class.Overhead != nil && spec.Overhead == nil {
		spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return
	}
	for k, v := range class.Scheduling.NodeSelector {
		if spec.NodeSelector == nil {
			spec.NodeSelector = map[string]string{}
		}
		spec.NodeSelector[k] = v
	}
	for _, t := range class.Scheduling.Tolerations {
		if !slices.Contains(spec.Tolerations, t) {
			spec.Tolerations = append(spec.Tolerations, t)
		}
	}
}

// fill copies from defaults to `have` the resources that `have` lacks.
func fill(have *corev1.ResourceList, defaults corev1.ResourceList) {
	for name, q := range defaults {
		if _, ok := (*have)[name]; ok {
			continue
		}
		if *have == nil {
			*have = corev1.ResourceList{}
		}
		(*have)[name] = q
	}
}

// openPorts sets the defaults of ports. With hostNetwork, a container port is also a host port.
func openPorts(ports []corev1.ContainerPort, hostNetwork bool) {
	for i := range ports {
		if hostNetwork && ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
		if ports[i].Protocol == "" {
			ports[i].Protocol = corev1.ProtocolTCP
		}
	}
}

// faults returns mistakes in spec that the API server would reject and that make a decision meaningless. Each has a
// field and a message. at is the path of spec.
func faults(spec *corev1.PodSpec, at string) (out [][2]string) {
	if len(spec.Containers) == 0 {
		out = append(out, [2]string{at + ".containers", "is empty: a pod has one container at least"})
	}
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", spec.InitContainers}, {"containers", spec.Containers}} {
		for i, c := range list.containers {
			field := fmt.Sprintf("%s.%s[%d].resources", at, list.name, i)
			out = append(out, amounts(c.Resources, field)...)
		}
	}
	if spec.Resources != nil {
		out = append(out, amounts(*spec.Resources, at+".resources")...)
	}
	return out
}

// amounts returns the mistakes in amounts of resources, such as negative ones and requests above the limit.
func amounts(r corev1.ResourceRequirements, at string) (out [][2]string) {
	zero := resource.Quantity{}
	for _, list := range []struct {
		name string
		of   corev1.ResourceList
	}{{"requests", r.Requests}, {"limits", r.Limits}} {
		for name, q := range list.of {
			if q.Cmp(zero) < 0 {
				out = append(out, [2]string{fmt.Sprintf("%s.%s[%s]", at, list.name, name), q.String() + " is negative"})
			}
		}
	}
	for name, limit := range r.Limits {
		if q, ok := r.Requests[name]; ok && q.Cmp(limit) > 0 {
			out = append(out, [2]string{fmt.Sprintf("%s.requests[%s]", at, name),
				fmt.Sprintf("%s is more than the limit of %s", q.String(), limit.String())})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}
