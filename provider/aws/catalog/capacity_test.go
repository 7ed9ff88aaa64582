package catalog

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// machine returns a type of the shipped table.
func machine(t *testing.T, name string) Machine {
	t.Helper()
	table, err := shipped.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range table.Types {
		if s.Name == name {
			return fromShipped(s)
		}
	}
	t.Fatalf("no type %s in the shipped table", name)
	return Machine{}
}

func shape(family string) Shape {
	f := FamilyByName(family)
	return Shape{Family: f, Disks: f.Mappings(&awsv1.EC2NodeClass{}), Options: Options{MemoryOverhead: DefaultMemoryOverhead}}
}

// The values are what real nodes of AL2023 report.
func TestAllocatableOfRealNodes(t *testing.T) {
	for _, tt := range []struct{ name, cpu, memory, pods, storage string }{
		{"m5.large", "1930m", "6903Mi", "29", "17Gi"},
		{"a1.medium", "940m", "1392Mi", "8", "17Gi"},
		{"m8g.large", "1930m", "6844Mi", "29", "17Gi"},
	} {
		m, s := machine(t, tt.name), shape(awsv1.AMIFamilyAL2023)
		capacity := Capacity(m, s)
		got := model.NewAllocatable(capacity, Overhead(m, s, capacity))
		for name, want := range map[corev1.ResourceName]string{
			corev1.ResourceCPU: tt.cpu, corev1.ResourceMemory: tt.memory, corev1.ResourcePods: tt.pods,
			corev1.ResourceEphemeralStorage: tt.storage,
		} {
			if have := model.Quantity(name, got[name]); have.Cmp(resource.MustParse(want)) != 0 {
				t.Errorf("%s: allocatable %s is %s, want %s", tt.name, name, &have, want)
			}
		}
	}
}

func TestMemoryCapacity(t *testing.T) {
	for name, want := range map[string]int64{"m5.large": 7577, "c6g.large": 3729} {
		if got := memory(machine(t, name), 0.075) / mib; got != want {
			t.Errorf("%s: memory capacity is %dMi, want %dMi", name, got, want)
		}
	}
}

func TestReservedCPU(t *testing.T) {
	for vcpu, want := range map[int64]int64{1: 60, 2: 70, 4: 80, 8: 90, 96: 310} {
		if got := reservedCPU(vcpu * 1000); got != want {
			t.Errorf("%d vCPUs reserve %dm, want %dm", vcpu, got, want)
		}
	}
}

func TestPods(t *testing.T) {
	efa := func(card int32) *awsv1.NetworkInterface {
		return &awsv1.NetworkInterface{NetworkCardIndex: card, DeviceIndex: 1, InterfaceType: awsv1.InterfaceTypeEFAOnly}
	}
	for _, tt := range []struct {
		name   string
		family string
		change func(*Shape)
		want   int64
	}{
		{"interfaces bound it", awsv1.AMIFamilyAL2023, func(*Shape) {}, 29},
		{"a reserved interface gives no addresses", awsv1.AMIFamilyAL2023, func(s *Shape) { s.ReservedENIs = 1 }, 20},
		{"more reserved than there are", awsv1.AMIFamilyAL2023, func(s *Shape) { s.ReservedENIs = 9 }, 0},
		{"EFA-only on the first card takes a slot", awsv1.AMIFamilyAL2023, func(s *Shape) {
			s.Interfaces = []*awsv1.NetworkInterface{efa(0)}
		}, 20},
		{"EFA-only on another card does not", awsv1.AMIFamilyAL2023, func(s *Shape) {
			s.Interfaces = []*awsv1.NetworkInterface{efa(1)}
		}, 29},
		{"maxPods wins", awsv1.AMIFamilyAL2023, func(s *Shape) { s.Kubelet.MaxPods = ptr.To[int32](50) }, 50},
		{"podsPerCore is a cap", awsv1.AMIFamilyAL2023, func(s *Shape) { s.Kubelet.PodsPerCore = ptr.To[int32](4) }, 8},
		{"podsPerCore 0 is none", awsv1.AMIFamilyAL2023, func(s *Shape) { s.Kubelet.PodsPerCore = ptr.To[int32](0) }, 29},
		{"Bottlerocket knows no podsPerCore", awsv1.AMIFamilyBottlerocket, func(s *Shape) {
			s.Kubelet.PodsPerCore = ptr.To[int32](4)
		}, 29},
		{"Windows is not bound by interfaces", awsv1.AMIFamilyWindows2022, func(*Shape) {}, 110},
	} {
		s := shape(tt.family)
		tt.change(&s)
		if got := pods(machine(t, "m5.large"), s); got != tt.want {
			t.Errorf("%s: %d pods, want %d", tt.name, got, tt.want)
		}
	}
}

// In the expression of maxPods, max_pods is the default of the family. podsPerCore bounds the result.
func TestPodsOfAnExpression(t *testing.T) {
	for _, tt := range []struct {
		text    string
		perCore int
		want    int64
	}{
		{"max_pods - 1", 0, 28}, {"max_pods - 1", 5, 10}, {"max_pods / 10", 5, 2},
	} {
		config, err := kubelet.Parse(map[string]apiextensionsv1.JSON{
			"maxPods": {Raw: fmt.Appendf(nil, "%q", tt.text)}, "podsPerCore": {Raw: fmt.Append(nil, tt.perCore)},
		})
		if err != nil {
			t.Fatal(err)
		}
		s, m := shape(awsv1.AMIFamilyAL2023), machine(t, "m5.large")
		s.Kubelet, s.Expressions = config, true
		if s, err = s.on(m); err != nil {
			t.Fatal(err)
		}
		if got := pods(m, s); got != tt.want {
			t.Errorf("%q with %d pods per core: %d pods, want %d", tt.text, tt.perCore, got, tt.want)
		}
	}
}

func TestReservedMemoryCountsPods(t *testing.T) {
	for _, tt := range []struct {
		family string
		pods   int64 // number of pods for each of which 11Mi are reserved
	}{
		{awsv1.AMIFamilyAL2023, 29}, {awsv1.AMIFamilyCustom, 29}, {awsv1.AMIFamilyBottlerocket, 50}, {awsv1.AMIFamilyWindows2022, 50},
	} {
		s := shape(tt.family)
		s.Kubelet.MaxPods = ptr.To[int32](50)
		s.ReservedENIs = 1 // does not change the reserved memory
		got := Reserved(machine(t, "m5.large"), s)[corev1.ResourceMemory]
		if want := (11*tt.pods + 255) * mib; got != want {
			t.Errorf("%s reserves %dMi, want %dMi", tt.family, got/mib, want/mib)
		}
	}
}

func TestOverheadOverrides(t *testing.T) {
	m, s := machine(t, "m5.large"), shape(awsv1.AMIFamilyAL2023)
	s.Kubelet = kubelet.Config{
		KubeReserved:   map[string]string{"cpu": "200m"}, // the reserved memory is unchanged
		SystemReserved: map[string]string{"memory": "100Mi", "pid": "100"},
		EvictionHard:   map[string]string{"memory.available": "5%", "nodefs.available": "100%"},
		EvictionSoft:   map[string]string{"memory.available": "50%"},
	}
	capacity := Capacity(m, s)
	got := Overhead(m, s, capacity)
	want := model.Resources{
		corev1.ResourceCPU:              200,
		corev1.ResourceMemory:           (574+100)*mib + (capacity[corev1.ResourceMemory]+19)/20,
		corev1.ResourceEphemeralStorage: gib,
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("overhead of %s is %d, want %d", name, got[name], w)
		}
	}
	if _, ok := got["pid"]; ok {
		t.Error("overhead holds pid, which is no capacity")
	}
}

// The snapshot of current Bottlerocket images needs a root volume of 6Gi.
func TestBottlerocketDisks(t *testing.T) {
	var got []string
	for _, m := range FamilyByName(awsv1.AMIFamilyBottlerocket).Mappings(&awsv1.EC2NodeClass{}) {
		got = append(got, *m.DeviceName+" "+m.EBS.VolumeSize.String())
	}
	if want := []string{"/dev/xvda 6Gi", "/dev/xvdb 20Gi"}; !slices.Equal(got, want) {
		t.Errorf("disks are %v, want %v", got, want)
	}
}

func TestEphemeralStorage(t *testing.T) {
	mapping := func(device, size string, root bool) *awsv1.BlockDeviceMapping {
		m := &awsv1.BlockDeviceMapping{DeviceName: ptr.To(device), RootVolume: root}
		if size != "" {
			m.EBS = &awsv1.BlockDevice{VolumeSize: ptr.To(resource.MustParse(size))}
		}
		return m
	}
	for _, tt := range []struct {
		name, family, machine string
		raid                  bool
		disks                 []*awsv1.BlockDeviceMapping
		want                  string
	}{
		{"family default", awsv1.AMIFamilyAL2023, "m5.large", false, nil, "20Gi"},
		{"Bottlerocket keeps pods on the second disk", awsv1.AMIFamilyBottlerocket, "m5.large", false, nil, "20Gi"},
		{"Windows", awsv1.AMIFamilyWindows2022, "m5.large", false, nil, "50Gi"},
		{"the device that counts", awsv1.AMIFamilyAL2023, "m5.large", false, []*awsv1.BlockDeviceMapping{
			mapping("/dev/sdb", "500Gi", false), mapping("/dev/xvda", "100Gi", false)}, "100Gi"},
		{"the root volume", awsv1.AMIFamilyAL2023, "m5.large", false, []*awsv1.BlockDeviceMapping{
			mapping("/dev/xvda", "100Gi", false), mapping("/dev/sdb", "500Gi", true)}, "500Gi"},
		{"another device only", awsv1.AMIFamilyAL2023, "m5.large", false, []*awsv1.BlockDeviceMapping{
			mapping("/dev/sdb", "500Gi", false)}, "20Gi"},
		{"Custom takes the last", awsv1.AMIFamilyCustom, "m5.large", false, []*awsv1.BlockDeviceMapping{
			mapping("/dev/a", "1Gi", false), mapping("/dev/b", "7Gi", false)}, "7Gi"},
		{"Custom without disks", awsv1.AMIFamilyCustom, "m5.large", false, nil, "20Gi"},
		{"a mapping without volume", awsv1.AMIFamilyCustom, "m5.large", false, []*awsv1.BlockDeviceMapping{
			mapping("/dev/b", "", false)}, "20Gi"},
		{"local disks joined", awsv1.AMIFamilyAL2023, "m5d.large", true, nil, "75G"},
		{"no local disks to join", awsv1.AMIFamilyAL2023, "m5.large", true, nil, "20Gi"},
	} {
		s := shape(tt.family)
		s.RAID0 = tt.raid
		if tt.disks != nil {
			s.Disks = tt.disks
		}
		want := resource.MustParse(tt.want)
		if got := ephemeral(machine(t, tt.machine), s); got != want.Value() {
			t.Errorf("%s: %d bytes, want %s", tt.name, got, tt.want)
		}
	}
}

func TestDevices(t *testing.T) {
	for _, tt := range []struct {
		machine string
		name    corev1.ResourceName
		want    int64
	}{
		{"g5.12xlarge", awsv1.ResourceNVIDIAGPU, 4},
		{"p5.48xlarge", awsv1.ResourceEFA, 32},
		{"inf2.24xlarge", awsv1.ResourceAWSNeuron, 6},
		{"inf2.24xlarge", awsv1.ResourceAWSNeuronCore, 12},
		{"m5.large", awsv1.ResourcePodENI, 9},
		{"m5.large", awsv1.ResourceNVIDIAGPU, 0},
	} {
		if got := Capacity(machine(t, tt.machine), shape(awsv1.AMIFamilyAL2023))[tt.name]; got != tt.want {
			t.Errorf("%s has %d %s, want %d", tt.machine, got, tt.name, tt.want)
		}
	}
}
