package lint

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

var update = flag.Bool("update", false, "rewrite the want sections of the goldens")

// someTypes returns twenty instance types of four families in two zones. The types of the family p9 are only available as spot.
func someTypes(region string, _ *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	var list []*model.InstanceType
	for _, family := range []string{"m5", "c6i", "r7g", "p9"} {
		for _, size := range []string{"large", "xlarge", "2xlarge", "4xlarge", "8xlarge"} {
			t := &model.InstanceType{Name: family + "." + size, Requirements: require.NewSet(
				require.New("node.kubernetes.io/instance-type", require.In, family+"."+size),
				require.New("karpenter.k8s.aws/instance-family", require.In, family),
				require.New("karpenter.k8s.aws/instance-category", require.In, family[:1]),
				require.New("karpenter.k8s.aws/instance-generation", require.In, family[1:2]),
				require.New("kubernetes.io/arch", require.In, map[bool]string{true: "arm64", false: "amd64"}[family == "r7g"]),
				require.New("kubernetes.io/os", require.In, "linux"),
			)}
			for _, zone := range []string{region + "a", region + "b"} {
				for _, capacity := range []string{"spot", "on-demand"} {
					if family == "p9" && capacity != "spot" {
						continue
					}
					t.Offerings = append(t.Offerings, model.Offering{Zone: zone, CapacityType: capacity, Requirements: require.NewSet(
						require.New("topology.kubernetes.io/zone", require.In, zone),
						require.New(apiv1.CapacityTypeLabelKey, require.In, capacity))})
				}
			}
			list = append(list, t)
		}
	}
	return list, nil
}

// noNegativePods is the Judge of the tests: it rejects a negative maxPods.
func noNegativePods(c *awsv1.EC2NodeClass) string {
	if strings.HasPrefix(string(c.Spec.Kubelet["maxPods"].Raw), "-") {
		return "spec.kubelet: maxPods is negative"
	}
	return ""
}

// Each golden file has manifests and their findings. Together, the files have a finding of every rule.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := &txtar.Archive{Comment: archive.Comment}
		var in []File
		for _, f := range archive.Files {
			if f.Name != "want" {
				in = append(in, File{f.Name, f.Data})
				got.Files = append(got.Files, f)
			}
		}
		findings, err := Check(t.Context(), in, Options{Types: someTypes, AsOf: "2025-05-28", Names: []string{"m5.24xlarge", "c6gd.large"}, Judge: noNegativePods})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, f := range findings {
			seen[f.Rule] = true
			text.WriteString(f.String() + "\n")
			if f.Fix == "" || f.Line < 1 {
				t.Errorf("%s: without fix or line: %+v", file, f)
			}
		}
		got.Files = append(got.Files, txtar.File{Name: "want", Data: []byte(text.String())})
		if bytes.Equal(txtar.Format(got), txtar.Format(archive)) {
			continue
		}
		if !*update {
			t.Errorf("%s (-want +got, -update rewrites it):\n%s", file, cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(got))))
			continue
		}
		if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range Rules {
		if !seen[r.Name] {
			t.Errorf("no golden shows %s", r.Name)
		}
	}
}

func TestSARIF(t *testing.T) {
	findings, err := Check(t.Context(), []File{{"a.yaml", []byte("kind: Provisioner\napiVersion: karpenter.sh/v1alpha5\n")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(SARIF("1", findings))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"version":"2.1.0"`, `"ruleId":"legacy-kind"`, `"startLine":2`, `"uri":"a.yaml"`, `"level":"error"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// Check returns a result or an error for any input.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {}\n"))
	f.Add([]byte("apiVersion: policy/v1\nkind: PodDisruptionBudget\nspec: {minAvailable: 1, selector: {}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Check(t.Context(), []File{{"fuzz.yaml", data}}, Options{Types: someTypes}); err != nil {
			t.Error(err)
		}
	})
}
