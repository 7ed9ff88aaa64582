package workload

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Profile is a shape of workload.
type Profile string

// The profiles.
const (
	// Micro is many small deployments in mixed ratios of cpu to memory.
	Micro Profile = "micro"
	// Skewed is half cpu-heavy, half memory-heavy.
	Skewed Profile = "skewed"
	// Large is few large pods, which leave much of a node unused.
	Large Profile = "large"
	// Diverse is a fifth each of pods without constraints, with topology spread over zones, with topology spread over
	// hosts, with affinity to each other by zone, and with anti-affinity by host. Every pod has random requests. Pods
	// without anti-affinity have random labels, pods with anti-affinity exclude each other.
	Diverse Profile = "diverse"
	// Prefs is one deployment whose pods prefer an existing zone, and anti-affinity to each other by zone and by host.
	// These preferences cannot all be met together.
	Prefs Profile = "prefs"
	// Services is deployments with common constraints. On average, five of twelve have topology spread over zones or hosts,
	// two have affinity or anti-affinity among their pods, two select a zone or an architecture, and three have no
	// constraint.
	Services Profile = "services"
)

// Profiles are all profiles.
var Profiles = [...]Profile{Micro, Skewed, Large, Diverse, Prefs, Services}

// ParseProfile returns the profile with the name.
func ParseProfile(name string) (Profile, error) {
	var names []string
	for _, p := range Profiles {
		if string(p) == name {
			return p, nil
		}
		names = append(names, string(p))
	}
	return "", fmt.Errorf("profile %q is not known, use one of %s", name, strings.Join(names, ", "))
}

// Pods returns n pending pods of the profile.
func Pods(p Profile, n int, seed uint64) []*corev1.Pod {
	m := &maker{dice: newDice(seed), want: n}
	switch p {
	case Diverse:
		m.diverse()
	case Prefs:
		m.prefs()
	case Services:
		m.until(m.service)
	case Micro:
		m.until(m.micro)
	case Skewed:
		m.until(m.skewed)
	default:
		m.until(m.large)
	}
	return m.pods
}

// A maker collects the pods of one workload.
type maker struct {
	dice
	want int
	apps int
	pods []*corev1.Pod
}

// until calls deployment, which adds pods, until there are m.want pods.
func (m *maker) until(deployment func()) {
	for len(m.pods) < m.want {
		deployment()
	}
}

// add adds one pod.
func (m *maker) add(labels map[string]string, milliCPU, mebibytes int64, spec corev1.PodSpec) {
	name := fmt.Sprintf("p%d", len(m.pods))
	spec.Containers = []corev1.Container{{Name: "c", Image: "pause", Resources: Requests(milliCPU, mebibytes)}}
	m.pods = append(m.pods, Pending(&corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: labels},
		Spec:       spec,
	}))
}

// deploy adds a deployment's replicas, at most as many as are still missing.
func (m *maker) deploy(milliCPU, mebibytes int64, replicas int) {
	app := fmt.Sprintf("d%d", m.apps)
	m.apps++
	for range min(replicas, m.want-len(m.pods)) {
		m.add(map[string]string{"app": app}, milliCPU, mebibytes, corev1.PodSpec{})
	}
}

// Requests returns the requests of a container, in thousandths of a core and in MiB.
func Requests(milliCPU, mebibytes int64) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
	}}
}

// Pending sets the condition by which kube-scheduler marks unschedulable pods, and a UID if the pod has none.
func Pending(p *corev1.Pod) *corev1.Pod {
	if p.UID == "" {
		p.UID = types.UID("uid-" + p.Namespace + "-" + p.Name)
	}
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return p
}

func (m *maker) micro() {
	cpu := pick[int64](m.dice, 50, 100, 100, 200, 250, 250, 500, 500, 1000, 2000)
	ratio := pick(m.dice, 0.5, 1, 2, 2, 4, 4, 8, 12) // MiB per millicore
	memory := int64(float64(cpu)*ratio*1.024) + pick[int64](m.dice, 0, 64, 128)
	m.deploy(cpu, max(memory, 32), pick(m.dice, 1, 2, 3, 3, 5, 8, 10, 20, 40))
}

func (m *maker) skewed() {
	cpu, memory := pick[int64](m.dice, 1000, 2000, 3000, 4000), pick[int64](m.dice, 256, 512, 1024)
	if m.IntN(2) == 0 {
		cpu, memory = pick[int64](m.dice, 100, 250, 500), pick[int64](m.dice, 4096, 8192, 12288)
	}
	m.deploy(cpu, memory, pick(m.dice, 3, 5, 10, 20))
}

func (m *maker) large() {
	m.deploy(5000+500*m.Int64N(70), (8+m.Int64N(192))*1024, pick(m.dice, 1, 2, 3))
}
