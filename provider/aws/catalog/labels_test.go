package catalog

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

func TestLabels(t *testing.T) {
	const absent = ""
	for _, tt := range []struct {
		machine string
		want    map[string]string
	}{
		{"m5.large", map[string]string{
			corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
			corev1.LabelWindowsBuild:    absent,
			awsv1.LabelInstanceCategory: "m", awsv1.LabelInstanceGeneration: "5", awsv1.LabelInstanceFamily: "m5",
			awsv1.LabelInstanceSize: "large", awsv1.LabelInstanceCPU: "2", awsv1.LabelInstanceMemory: "8192",
			awsv1.LabelInstanceCPUManufacturer: "intel", awsv1.LabelInstanceHypervisor: "nitro",
			awsv1.LabelInstanceCPUSustainedClockSpeedMhz: "3100", awsv1.LabelInstanceNetworkBandwidth: "625",
			awsv1.LabelInstanceEBSBandwidth: "4750", awsv1.LabelInstanceLocalNVME: absent,
			awsv1.LabelInstanceGPUCount: absent, awsv1.LabelInstanceAcceleratorName: absent,
			awsv1.LabelInstanceCapabilityFlex: "false", awsv1.LabelCapacityReservationID: absent,
			awsv1.LabelNodeClass: "default",
		}},
		{"c6g.large", map[string]string{corev1.LabelArchStable: "arm64", awsv1.LabelInstanceCPUManufacturer: "aws"}},
		{"m7i-flex.large", map[string]string{
			awsv1.LabelInstanceCapabilityFlex: "true", awsv1.LabelInstanceGeneration: "7", awsv1.LabelInstanceFamily: "m7i-flex",
		}},
		{"g5.12xlarge", map[string]string{
			awsv1.LabelInstanceGPUName: "a10g", awsv1.LabelInstanceGPUManufacturer: "nvidia",
			awsv1.LabelInstanceGPUCount: "4", awsv1.LabelInstanceGPUMemory: "24576", awsv1.LabelInstanceLocalNVME: "3800",
		}},
		{"inf2.24xlarge", map[string]string{
			awsv1.LabelInstanceAcceleratorName: "inferentia2", awsv1.LabelInstanceAcceleratorManufacturer: "aws",
			awsv1.LabelInstanceAcceleratorCount: "6", awsv1.LabelInstanceCategory: "inf",
		}},
	} {
		s := shape(awsv1.AMIFamilyAL2023)
		s.Class, s.Region = "default", "us-east-1"
		got := Requirements(machine(t, tt.machine), s)
		for key, value := range tt.want {
			want := require.New(key, require.In, value)
			if value == absent {
				want = require.New(key, require.DoesNotExist)
			}
			if have, ok := got.Get(key); !ok || !have.Equal(want) {
				t.Errorf("%s: %v, want %v", tt.machine, have, want)
			}
		}
		for key := range awsv1.Labels().WellKnown {
			if key != awsv1.LabelTopologyZoneID && !got.Has(key) {
				t.Errorf("%s does not define %s", tt.machine, key)
			}
		}
	}
}

// A type without a hypervisor has the label with the empty value: NotIn [""] is how pools exclude bare metal. Every
// other label of the type has a value or is absent.
func TestBareMetalHasAnEmptyHypervisor(t *testing.T) {
	for name, m := range map[string]Machine{"shipped": machine(t, "m5.metal"), "live": liveMetal(t)} {
		reqs := Requirements(m, shape(awsv1.AMIFamilyAL2023))
		for _, tt := range []struct {
			op     require.Operator
			values []string
			want   bool
		}{
			{require.NotIn, []string{""}, false},
			{require.In, []string{""}, true},
			{require.In, []string{"nitro"}, false},
			{require.NotIn, []string{"xen"}, true},
			{require.Exists, nil, true},
			{require.DoesNotExist, nil, false},
		} {
			want := require.NewSet(require.New(awsv1.LabelInstanceHypervisor, tt.op, tt.values...))
			if _, ok := reqs.Intersects(want); ok != tt.want {
				t.Errorf("%s: metal meets %s: %v, want %v", name, want, ok, tt.want)
			}
		}
		if v, ok := reqs.Labels()[awsv1.LabelInstanceHypervisor]; !ok || v != "" {
			t.Errorf("%s: nodes get hypervisor %q, %v, want the empty value", name, v, ok)
		}
		for r := range reqs.All() {
			if r.Key() != awsv1.LabelInstanceHypervisor && r.Has("") {
				t.Errorf("%s: %s", name, r)
			}
		}
	}
}

// liveMetal is a bare-metal type as EC2 describes it: without a hypervisor.
func liveMetal(t *testing.T) Machine {
	t.Helper()
	of := info("m5.metal", "x86_64")
	of.Hypervisor, of.BareMetal = "", aws.Bool(true)
	m, ok := fromEC2(of, shipped.Type{})
	if !ok {
		t.Fatal("m5.metal is not taken")
	}
	return m
}

func TestNamesWithSizes(t *testing.T) {
	for name, want := range map[string][2]string{
		"u-6tb1.metal": {"u", "1"}, "trn1.2xlarge": {"trn", "1"}, "p4de.24xlarge": {"p", "4"}, "x2iedn.32xlarge": {"x", "2"},
	} {
		match := generation.FindStringSubmatch(name)
		if match == nil || match[1] != want[0] || match[3] != want[1] {
			t.Errorf("%s splits into %q, want %v", name, match, want)
		}
	}
}
