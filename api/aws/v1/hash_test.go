package v1_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

func class() *awsv1.EC2NodeClass {
	size := resource.MustParse("100Gi")
	return &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{
		AMISelectorTerms:    []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
		SubnetSelectorTerms: []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}},
		Role:                "role",
		Tags:                map[string]string{"a": "1", "b": "2"},
		Kubelet:             map[string]apiextensionsv1.JSON{"kubeReserved": {Raw: []byte(`{"cpu":"1","memory":"1Gi"}`)}},
		BlockDeviceMappings: []*awsv1.BlockDeviceMapping{
			{DeviceName: ptr.To("/dev/xvda"), EBS: &awsv1.BlockDevice{VolumeSize: &size}},
			{DeviceName: ptr.To("/dev/xvdb"), EBS: &awsv1.BlockDevice{SnapshotID: ptr.To("snap-1")}},
		},
		NetworkInterfaces: []*awsv1.NetworkInterface{{InterfaceType: "interface"}, {NetworkCardIndex: 1, InterfaceType: "efa-only"}},
	}}
}

// A hash that changes with the code and not with HashVersion would replace
// every node of every cluster.
func TestHashIsStable(t *testing.T) {
	if got, want := class().Hash("ca"), "9727581254146671652"; got != want {
		t.Errorf("Hash() = %s, want %s: if the rule changed on purpose, change HashVersion too", got, want)
	}
}

func TestHashIgnores(t *testing.T) {
	for name, change := range map[string]func(*awsv1.EC2NodeClassSpec){
		"subnets": func(s *awsv1.EC2NodeClassSpec) { s.SubnetSelectorTerms = nil },
		"security groups": func(s *awsv1.EC2NodeClassSpec) {
			s.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{ID: "sg-1"}}
		},
		"reservations": func(s *awsv1.EC2NodeClassSpec) {
			s.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
		},
		"the alias's version":       func(s *awsv1.EC2NodeClassSpec) { s.AMISelectorTerms[0].Alias = "al2023@v20250801" },
		"a family like the alias's": func(s *awsv1.EC2NodeClassSpec) { s.AMIFamily = ptr.To("AL2023") },
		"prefixes":                  func(s *awsv1.EC2NodeClassSpec) { s.IPPrefixCount = ptr.To[int32](3) },
		"order of disks":            func(s *awsv1.EC2NodeClassSpec) { m := s.BlockDeviceMappings; m[0], m[1] = m[1], m[0] },
		"order of interfaces":       func(s *awsv1.EC2NodeClassSpec) { n := s.NetworkInterfaces; n[0], n[1] = n[1], n[0] },
		"order of kubelet keys": func(s *awsv1.EC2NodeClassSpec) {
			s.Kubelet["kubeReserved"] = apiextensionsv1.JSON{Raw: []byte(`{ "memory": "1Gi", "cpu": "1" }`)}
		},
		"how a size is written": func(s *awsv1.EC2NodeClassSpec) {
			for _, m := range s.BlockDeviceMappings {
				if m.EBS.VolumeSize != nil {
					m.EBS.VolumeSize = ptr.To(resource.MustParse("102400Mi"))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := class()
			change(&c.Spec)
			if got, want := c.Hash("ca"), class().Hash("ca"); got != want {
				t.Errorf("Hash() = %s, want %s", got, want)
			}
		})
	}
}

func TestHashSees(t *testing.T) {
	seen := map[string]string{class().Hash("ca"): "nothing", class().Hash("other"): "the CA"}
	for name, change := range map[string]func(*awsv1.EC2NodeClassSpec){
		"placement group":     func(s *awsv1.EC2NodeClassSpec) { s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "p"} },
		"public address":      func(s *awsv1.EC2NodeClassSpec) { s.AssociatePublicIPAddress = ptr.To(true) },
		"family":              func(s *awsv1.EC2NodeClassSpec) { s.AMIFamily = ptr.To("Custom") },
		"family of the alias": func(s *awsv1.EC2NodeClassSpec) { s.AMISelectorTerms[0].Alias = "bottlerocket@latest" },
		"user data":           func(s *awsv1.EC2NodeClassSpec) { s.UserData = ptr.To("x") },
		"role":                func(s *awsv1.EC2NodeClassSpec) { s.Role = "other" },
		"profile":             func(s *awsv1.EC2NodeClassSpec) { s.InstanceProfile = ptr.To("p") },
		"tags":                func(s *awsv1.EC2NodeClassSpec) { s.Tags["a"] = "3" },
		"kubelet":             func(s *awsv1.EC2NodeClassSpec) { s.Kubelet["maxPods"] = apiextensionsv1.JSON{Raw: []byte(`10`)} },
		"disks":               func(s *awsv1.EC2NodeClassSpec) { s.BlockDeviceMappings[0].RootVolume = true },
		"instance store":      func(s *awsv1.EC2NodeClassSpec) { s.InstanceStorePolicy = ptr.To(awsv1.InstanceStorePolicyRAID0) },
		"interfaces":          func(s *awsv1.EC2NodeClassSpec) { s.NetworkInterfaces = s.NetworkInterfaces[:1] },
		"monitoring":          func(s *awsv1.EC2NodeClassSpec) { s.DetailedMonitoring = ptr.To(true) },
		"metadata options": func(s *awsv1.EC2NodeClassSpec) {
			s.MetadataOptions = &awsv1.MetadataOptions{HTTPTokens: ptr.To("optional")}
		},
		"connection tracking": func(s *awsv1.EC2NodeClassSpec) {
			s.ConnectionTracking = &awsv1.ConnectionTracking{UDPTimeout: ptr.To[int32](30)}
		},
		"context": func(s *awsv1.EC2NodeClassSpec) { s.Context = ptr.To("c") },
		"processor": func(s *awsv1.EC2NodeClassSpec) {
			s.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: ptr.To("enabled")}
		},
	} {
		c := class()
		change(&c.Spec)
		hash := c.Hash("ca")
		if other, ok := seen[hash]; ok {
			t.Errorf("a change of %s hashes like one of %s", name, other)
		}
		seen[hash] = name
	}
}

func TestHashLeavesTheClassAlone(t *testing.T) {
	c := class()
	c.Spec.Kubelet["broken"] = apiextensionsv1.JSON{Raw: []byte(`{`)}
	before := c.DeepCopy()
	c.Hash("ca")
	if got := c.Hash("ca"); got != before.Hash("ca") || c.Spec.SubnetSelectorTerms == nil {
		t.Error("Hash changed the class")
	}
}

func TestResolvedAMIFamily(t *testing.T) {
	for _, test := range []struct {
		family *string
		alias  string
		want   string
	}{
		{nil, "al2@latest", "AL2"},
		{nil, "al2023@v1", "AL2023"},
		{nil, "bottlerocket@latest", "Bottlerocket"},
		{nil, "windows2019@latest", "Windows2019"},
		{nil, "windows2022@latest", "Windows2022"},
		{nil, "windows2025@latest", "Windows2025"},
		{ptr.To("Custom"), "al2023@latest", "Custom"},
		{ptr.To("AL2"), "", "AL2"},
		{nil, "", "Custom"},
		{nil, "ubuntu@latest", "Custom"},
		{nil, "al2023", "Custom"},
	} {
		c := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{
			AMIFamily: test.family, AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: test.alias}},
		}}
		if got := c.ResolvedAMIFamily(); got != test.want {
			t.Errorf("family %v, alias %q: got %s, want %s", test.family, test.alias, got, test.want)
		}
	}
	c := class()
	if alias, ok := c.Alias(); !ok || alias != (awsv1.Alias{Family: "AL2023", Version: "latest"}) {
		t.Errorf("Alias() = %v, %t", alias, ok)
	}
}
