package workload

import (
	"fmt"
	"math/rand/v2"

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
	// Large is few big pods that fit badly.
	Large Profile = "large"
)

// Profiles are all of them.
var Profiles = [...]Profile{Micro, Skewed, Large}

// Pods returns n pending pods of the profile.
func Pods(p Profile, n int, seed uint64) []*corev1.Pod {
	m := maker{rng: rand.New(rand.NewPCG(seed, 0)), want: n}
	for len(m.pods) < n {
		switch p {
		case Micro:
			m.micro()
		case Skewed:
			m.skewed()
		default:
			m.large()
		}
	}
	return m.pods
}

type maker struct {
	rng  *rand.Rand
	want int
	app  int
	pods []*corev1.Pod
}

func (m *maker) pick(from ...int64) int64 { return from[m.rng.IntN(len(from))] }

// deploy adds replicas like pods, as many as are still wanted.
func (m *maker) deploy(milliCPU, mebibytes, replicas int64) {
	m.app++
	for range min(int(replicas), m.want-len(m.pods)) {
		name := fmt.Sprintf("p%06d", len(m.pods))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": fmt.Sprintf("d%d", m.app)},
		}}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
			},
		}}}
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		m.pods = append(m.pods, pod)
	}
}

func (m *maker) micro() {
	cpu := m.pick(50, 100, 100, 200, 250, 250, 500, 500, 1000, 2000)
	ratio := m.pick(1, 2, 4, 4, 8, 8, 16, 24) // half MiB a millicore
	m.deploy(cpu, max(cpu*ratio/2+m.pick(0, 64, 128), 32), m.pick(1, 2, 3, 3, 5, 8, 10, 20, 40))
}

func (m *maker) skewed() {
	if m.rng.IntN(2) == 0 {
		m.deploy(m.pick(1000, 2000, 3000, 4000), m.pick(256, 512, 1024), m.pick(3, 5, 10, 20))
		return
	}
	m.deploy(m.pick(100, 250, 500), m.pick(4096, 8192, 12288), m.pick(3, 5, 10, 20))
}

func (m *maker) large() {
	m.deploy(5000+500*m.rng.Int64N(70), (8+m.rng.Int64N(192))*1024, m.pick(1, 2, 3))
}
