package verify_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

func TestTmp(t *testing.T) {
	labels := apiv1.CoreLabels().With(apiv1.LabelRules{WellKnown: sets.New("family", "generation")})
	files, _ := filepath.Glob("../pack/testdata/scenario/*.txtar")
	for _, f := range files {
		ar, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c scenario.Cluster
		o := pack.Options{}
		for _, s := range ar.Files {
			if s.Name == "cluster.yaml" {
				if err := yaml.UnmarshalStrict(s.Data, &c); err != nil {
					t.Fatal(err)
				}
			}
			if s.Name == "options.yaml" {
				if err := yaml.UnmarshalStrict(s.Data, &o); err != nil {
					t.Fatal(err)
				}
			}
		}
		o.Labels = labels
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		p := pack.Solve(s, o)
		for _, v := range verify.Plan(s, p) {
			t.Errorf("%s: %s\n%s", filepath.Base(f), v, p)
		}
	}
}
