package bootstrap

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const allSettings = `
maxPods: 50
podsPerCore: 4
clusterDNS: ["10.0.0.53"]
kubeReserved: {cpu: 200m, memory: 300Mi}
systemReserved: {memory: 100Mi}
evictionHard: {memory.available: 5%, nodefs.available: 10%}
evictionSoft: {memory.available: 8%}
evictionSoftGracePeriod: {memory.available: 2m}
evictionMaxPodGracePeriod: 60
imageGCHighThresholdPercent: 80
imageGCLowThresholdPercent: 70
cpuCFSQuota: false
`

func settings(t *testing.T, text string) kubelet.Config {
	t.Helper()
	var section map[string]apiextensionsv1.JSON
	if err := yaml.Unmarshal([]byte(text), &section); err != nil {
		t.Fatal(err)
	}
	c, err := kubelet.Parse(section)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func input(family string) Input {
	claim := &apiv1.NodeClaim{}
	claim.Labels = map[string]string{
		apiv1.NodePoolLabelKey: "default", "team": "web",
		"node.kubernetes.io/role": "kept from kubelet", "kubernetes.io/os": "kept from kubelet",
	}
	claim.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "web"}
	claim.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "web", Effect: corev1.TaintEffectNoSchedule}}
	claim.Spec.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}}
	return Input{
		Family: family, MaxPods: 29,
		Cluster: Cluster{
			Name: "test", Endpoint: "https://api.test", CABundle: "Q0E=", CIDR: "10.100.0.0/16", DNS: "10.100.0.10",
		},
		Labels: ClaimLabels(claim, apiv1.CapacityTypeSpot, family), Taints: ClaimTaints(claim),
	}
}

// Each golden file is the user data of one case; -update rewrites them.
func TestGolden(t *testing.T) {
	const (
		mime = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"BOUND\"\n\n" +
			"--BOUND\nContent-Type: text/cloud-config\n\n#cloud-config\n--BOUND\n" +
			"Content-Type: application/node.eks.aws\n\nkind: NodeConfig\n--BOUND--\n"
		script = "#!/bin/bash\r\necho hello\r\n"
		config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  featureGates: {InstanceIdNodeName: true}\n"
		toml   = "[settings.kubernetes]\nmax-pods = 7\nstandalone-mode = false\n\n[settings.kubernetes.node-labels]\nteam = 'lost'\nfoo = 'kept'\n\n[settings.ntp]\ntime-servers = ['169.254.169.123']\n"
	)
	al2, al2023, bottlerocket := awsv1.AMIFamilyAL2, awsv1.AMIFamilyAL2023, awsv1.AMIFamilyBottlerocket
	for _, tt := range []struct {
		name, family string
		change       func(*Input)
	}{
		{"al2023", al2023, nil},
		{"al2023-settings", al2023, func(in *Input) { in.Kubelet, in.MaxPods = settings(t, allSettings+"serializeImagePulls: false"), 50 }},
		{"al2023-mime", al2023, func(in *Input) { in.Custom = mime }},
		{"al2023-content-type-first", al2023, func(in *Input) { in.Custom = strings.TrimPrefix(mime, "MIME-Version: 1.0\n") }},
		{"al2023-script", al2023, func(in *Input) { in.Custom = script }},
		{"al2023-nodeconfig", al2023, func(in *Input) { in.Custom = config }},
		{"al2023-raid0", al2023, func(in *Input) { in.RAID0 = true }},
		{"al2", al2, nil},
		{"al2-settings", al2, func(in *Input) { in.Kubelet, in.MaxPods = settings(t, allSettings), 50 }},
		{"al2-mime", al2, func(in *Input) { in.Custom = mime }},
		{"al2-script-ipv6-raid0", al2, func(in *Input) { in.Custom, in.RAID0, in.Cluster.DNS = script, true, "fd00::a" }},
		{"bottlerocket", bottlerocket, nil},
		{"bottlerocket-settings", bottlerocket, func(in *Input) {
			in.Kubelet, in.MaxPods = settings(t, strings.Replace(allSettings, "podsPerCore: 4", "", 1)), 50
		}},
		{"bottlerocket-merge", bottlerocket, func(in *Input) { in.Custom = toml }},
		{"bottlerocket-raid0", bottlerocket, func(in *Input) { in.RAID0, in.ImageVersion = true, "v1.46.0" }},
		{"bottlerocket-raid0-old", bottlerocket, func(in *Input) { in.RAID0, in.ImageVersion = true, "v1.45.9" }},
		{"windows", awsv1.AMIFamilyWindows2022, nil},
		{"windows-custom", awsv1.AMIFamilyWindows2022, func(in *Input) { in.Custom = "Write-Host hello\n" }},
		{"custom", awsv1.AMIFamilyCustom, func(in *Input) { in.Custom = "anything\r\nas it is" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := input(tt.family)
			if tt.change != nil {
				tt.change(&in)
			}
			got, err := UserData(in)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := UserData(in); again != got {
				t.Error("the same input gave other bytes")
			}
			file := filepath.Join("testdata", tt.name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-golden +got, -update rewrites)\n%s", diff)
			}
		})
	}
}

func TestUserDataErrors(t *testing.T) {
	noCIDR := input(awsv1.AMIFamilyAL2023)
	noCIDR.Cluster.CIDR = ""
	if _, err := UserData(noCIDR); !errors.Is(err, ErrNoCIDR) {
		t.Errorf("AL2023 without CIDR: %v", err)
	}
	for family, custom := range map[string]string{
		awsv1.AMIFamilyAL2023:       "Content-Type: text/plain\n\nno archive",
		awsv1.AMIFamilyAL2:          "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x\"\n\n--x\nContent-Type: a/b\n\nno end",
		awsv1.AMIFamilyBottlerocket: "settings = 3\n[",
		"Plan9":                     "",
	} {
		in := input(family)
		in.Custom = custom
		if out, err := UserData(in); err == nil {
			t.Errorf("%s with bad user data: no error, got %q", family, out)
		}
	}
	in := input(awsv1.AMIFamilyBottlerocket)
	in.Custom = "settings = 3"
	if _, err := UserData(in); err == nil || !strings.Contains(err.Error(), "settings is not a table") {
		t.Errorf("a value where a table should be: %v", err)
	}
}

func TestUnregisteredTaintIsThereOnce(t *testing.T) {
	claim := &apiv1.NodeClaim{}
	claim.Spec.StartupTaints = []corev1.Taint{apiv1.UnregisteredNoExecuteTaint()}
	if got := ClaimTaints(claim); len(got) != 1 {
		t.Errorf("taints are %v", got)
	}
}

func TestRestrictedLabels(t *testing.T) {
	for key, want := range map[string]bool{
		"kubernetes.io/os": true, "node.kubernetes.io/x": true, "node-restriction.kubernetes.io/x": true, "k8s.io/x": true,
		"team": false, "karpenter.sh/nodepool": false, "topology.k8s.aws/zone-id": false, "notkubernetes.io/x": false,
	} {
		if got := restricted(key); got != want {
			t.Errorf("%s: restricted is %v", key, got)
		}
	}
}

// The user data of a repeated launch are those of the first, although the claim has the labels of an instance by then.
func TestLabelsOfARepeatedLaunch(t *testing.T) {
	claim := &apiv1.NodeClaim{}
	claim.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "web"}
	first := ClaimLabels(claim, apiv1.CapacityTypeSpot, awsv1.AMIFamilyAL2023)
	claim.Labels = map[string]string{
		awsv1.LabelNodeClass: "web", awsv1.LabelInstanceFamily: "m5", awsv1.LabelInstanceTenancy: "default", corev1.LabelTopologyZone: "a",
	}
	if diff := cmp.Diff(first, ClaimLabels(claim, apiv1.CapacityTypeSpot, awsv1.AMIFamilyAL2023)); diff != "" {
		t.Error(diff)
	}
	if first[awsv1.LabelNodeClass] != "web" {
		t.Errorf("labels are %v", first)
	}
}
