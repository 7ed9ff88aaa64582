package catalog

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// A Family is an AMI family: a kind of image, with the properties on which boot and kubelet settings depend.
type Family struct {
	// Name is one of the AMIFamily constants.
	Name string
	// ENIMemory is true if kubelet's reserved memory depends on the number of pods that network interfaces allow, not
	// on maxPods.
	ENIMemory bool
	// PodsPerCore is true if the family applies kubelet's podsPerCore.
	PodsPerCore bool
	// ENIPods is true if network interfaces bound the number of pods.
	ENIPods bool
	// RawKubelet is true if the whole kubelet section is passed to kubelet. Only
	// maxPods, clusterDNS, registerWithTaints and the reserved resources are set
	// by the provider.
	RawKubelet bool
	// EphemeralDevice is the device name of the disk with the ephemeral storage of pods, empty if it depends on the image.
	EphemeralDevice string
	// Disks are the default disks. The node class may override them.
	Disks []Disk
	// WindowsBuild is the value of the label node.kubernetes.io/windows-build, empty on Linux.
	WindowsBuild string
}

// A Disk is a default block device: gp3, encrypted.
type Disk struct {
	Device string
	Size   resource.Quantity
}

func disk(device, size string) Disk { return Disk{Device: device, Size: resource.MustParse(size)} }

func families() []Family {
	windows := func(name, build string) Family {
		return Family{Name: name, PodsPerCore: true, EphemeralDevice: "/dev/sda1", WindowsBuild: build,
			Disks: []Disk{disk("/dev/sda1", "50Gi")}}
	}
	return []Family{
		{Name: awsv1.AMIFamilyAL2, ENIMemory: true, PodsPerCore: true, ENIPods: true,
			EphemeralDevice: "/dev/xvda", Disks: []Disk{disk("/dev/xvda", "20Gi")}},
		{Name: awsv1.AMIFamilyAL2023, ENIMemory: true, PodsPerCore: true, ENIPods: true, RawKubelet: true,
			EphemeralDevice: "/dev/xvda", Disks: []Disk{disk("/dev/xvda", "20Gi")}},
		{Name: awsv1.AMIFamilyBottlerocket, ENIPods: true,
			EphemeralDevice: "/dev/xvdb", Disks: []Disk{disk("/dev/xvda", "6Gi"), disk("/dev/xvdb", "20Gi")}},
		{Name: awsv1.AMIFamilyCustom, ENIMemory: true, PodsPerCore: true, ENIPods: true},
		windows(awsv1.AMIFamilyWindows2019, "10.0.17763"),
		windows(awsv1.AMIFamilyWindows2022, "10.0.20348"),
		windows(awsv1.AMIFamilyWindows2025, "10.0.26100"),
	}
}

// FamilyOf returns the family of the class's nodes: amiFamily if it is set, else the family of the alias, else Custom.
func FamilyOf(class *awsv1.EC2NodeClass) Family {
	name := awsv1.AMIFamilyCustom
	if alias, _, ok := Alias(class); ok {
		name = alias
	}
	if class.Spec.AMIFamily != nil {
		name = *class.Spec.AMIFamily
	}
	return FamilyByName(name)
}

// FamilyByName returns the family with the name, ignoring case, or Custom if there is none.
func FamilyByName(name string) Family {
	var custom Family
	for _, f := range families() {
		if strings.EqualFold(f.Name, name) {
			return f
		}
		if f.Name == awsv1.AMIFamilyCustom {
			custom = f
		}
	}
	return custom
}

// Alias returns the family and version of the first alias in the class's amiSelectorTerms. ok is false if there is
// none. If no family has the name in the alias, the family is Custom.
func Alias(class *awsv1.EC2NodeClass) (family, version string, ok bool) {
	for _, t := range class.Spec.AMISelectorTerms {
		if name, v, found := strings.Cut(t.Alias, "@"); found {
			return FamilyByName(name).Name, v, true
		}
	}
	return "", "", false
}

// Mappings returns the block devices of the class, or those of the family if the class has none.
func (f Family) Mappings(class *awsv1.EC2NodeClass) []*awsv1.BlockDeviceMapping {
	if len(class.Spec.BlockDeviceMappings) > 0 {
		return class.Spec.BlockDeviceMappings
	}
	var out []*awsv1.BlockDeviceMapping
	for _, d := range f.Disks {
		out = append(out, &awsv1.BlockDeviceMapping{
			DeviceName: ptr.To(d.Device),
			EBS: &awsv1.BlockDevice{
				Encrypted: ptr.To(true), VolumeType: ptr.To("gp3"), VolumeSize: ptr.To(d.Size.DeepCopy()),
			},
		})
	}
	return out
}

// Windows reports whether nodes run Windows.
func (f Family) Windows() bool { return f.WindowsBuild != "" }
