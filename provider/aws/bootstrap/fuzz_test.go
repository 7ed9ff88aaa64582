package bootstrap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// FuzzUserData merges custom user data of any form, labels and taints. If the input is accepted, the output is the same
// each time, and has all values that the node needs to join.
func FuzzUserData(f *testing.F) {
	families := []string{
		awsv1.AMIFamilyAL2023, awsv1.AMIFamilyAL2, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyWindows2022,
	}
	for i := range families {
		for _, custom := range []string{
			"", "#!/bin/bash\necho hi", "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n--b\nContent-Type: text/x-shellscript\n\necho\n--b--\n",
			"Content-Type: multipart/mixed\n\nno boundary", "[settings.kubernetes]\nmax-pods = 5\n[settings.kubernetes.node-labels]\na = \"b\"",
			"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluster: null, kubelet: {config: {maxPods: 3}}}", "<powershell>x</powershell>", "\x1f\x8b\x08\x00",
		} {
			f.Add(uint8(i), custom, "team", "blue")
		}
	}
	f.Fuzz(func(t *testing.T, family uint8, custom, key, value string) {
		in := Input{
			Family:  families[int(family)%len(families)],
			Cluster: Cluster{Name: "demo", Endpoint: "https://api.test:6443", CABundle: "Q0E=", CIDR: "10.100.0.0/16", DNS: "10.100.0.10"},
			MaxPods: 29, Labels: map[string]string{key: value}, Taints: []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}},
			Custom: custom, ImageVersion: "1.20.0",
		}
		got, err := UserData(in)
		if err != nil {
			return
		}
		if again, err := UserData(in); again != got || err != nil {
			t.Errorf("twice it is\n%q\nand\n%q (%v)", got, again, err)
		}
		if !strings.Contains(got, "demo") && !strings.Contains(custom, "\x1f\x8b") {
			t.Errorf("%s does not know its cluster:\n%q", in.Family, got)
		}
	})
}
