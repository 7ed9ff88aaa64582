package machine

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"
)

// TestDecode runs every file of testdata/decode. A file has user data, and the result of decoding it or the beginning of the
// error.
func TestDecode(t *testing.T) {
	files, err := filepath.Glob("testdata/decode/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string]string{}
			for _, f := range archive.Files {
				sections[f.Name] = string(f.Data)
			}
			b, err := Decode(strings.TrimSpace(sections["family"]), base64.StdEncoding.EncodeToString([]byte(sections["userdata"])))
			if complaint, ok := sections["error"]; ok {
				if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(complaint)) {
					t.Errorf("error is %v, want %q in it", err, complaint)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sections["want"], describe(b)); diff != "" {
				t.Errorf("decoded differs (-want +got):\n%s", diff)
			}
		})
	}
}

// describe formats a Bootstrap as in the test files.
func describe(b Bootstrap) string {
	pairs := func(m map[string]string) string {
		var out []string
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out = append(out, k+"="+m[k])
		}
		return strings.Join(out, ",")
	}
	var taints []string
	for _, t := range b.Taints {
		taints = append(taints, t.ToString())
	}
	return fmt.Sprintf(`cluster %s at %s, CA %s, CIDR %s
labels %s
taints %s
maxPods %d, podsPerCore %d
kubeReserved %s
systemReserved %s
evictionHard %s
raid0 %v
`, b.Cluster, b.Endpoint, b.CA, b.CIDR, pairs(b.Labels), strings.Join(taints, " "), b.Kubelet.MaxPods, b.Kubelet.PodsPerCore,
		pairs(b.Kubelet.KubeReserved), pairs(b.Kubelet.SystemReserved), pairs(b.Kubelet.EvictionHard), b.RAID0)
}

// A decoder returns a result or an error for any user data. It never panics.
func TestDecodeSurvives(t *testing.T) {
	pieces := []string{
		"MIME-Version: 1.0\n", "Content-Type: multipart/mixed; boundary=\"//\"\n", "\n", "--//\n", "--//--\n",
		"Content-Type: application/node.eks.aws\n", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n", "spec: {}\n",
		"/etc/eks/bootstrap.sh ", "--kubelet-extra-args ", "'", "\"", "\\", "<powershell>", "</powershell>", "-EKSClusterName ", "[settings]\n", "=", "\x00", "a",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "")
		for _, family := range []string{"AL2023", "AL2", "Bottlerocket", "Windows", "Custom"} {
			_, _ = Decode(family, base64.StdEncoding.EncodeToString([]byte(text)))
		}
	})
}

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{`a  b`, []string{"a", "b"}},
		{`'a b' "c 'd'" e"f g"h`, []string{"a b", "c 'd'", "ef gh"}},
		{`a\ b "c\"d" '\'`, []string{"a b", `c"d`, `\`}},
		{`'' a # comment`, []string{"", "a"}},
		{``, nil},
	} {
		got, err := words(tt.line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("words(%q) differ (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestKubeletLabels(t *testing.T) {
	for label, allowed := range map[string]bool{
		"karpenter.sh/nodepool": true, "team": true, "topology.k8s.aws/zone-id": true, "karpenter.k8s.aws/instance-cpu": true,
		"kubernetes.io/arch": true, "topology.kubernetes.io/zone": true, "node.kubernetes.io/anything": true, "x.kubelet.kubernetes.io/y": true,
		"node-role.kubernetes.io/worker": false, "kubernetes.io/team": false, "k8s.io/x": false, "x.k8s.io/y": false,
		"node-restriction.kubernetes.io/x": false, "a.node-restriction.kubernetes.io/x": false,
	} {
		if err := checkLabels(map[string]string{label: ""}); (err == nil) != allowed {
			t.Errorf("label %s gives %v, want allowed=%v", label, err, allowed)
		}
	}
}

// The expected numbers are documented by EKS.
func TestReservedMillis(t *testing.T) {
	for vcpus, want := range map[int]int{1: 60, 2: 70, 4: 80, 8: 90, 96: 310} {
		if got := reservedMillis(vcpus); got != want {
			t.Errorf("reservedMillis(%d) = %d, want %d", vcpus, got, want)
		}
	}
}
