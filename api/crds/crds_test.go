package crds_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/crds"
)

func TestEveryFieldAndRuleSaysWhatItMeans(t *testing.T) {
	list, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range list {
		for _, v := range crd.Spec.Versions {
			explained(t, crd.Name, v.Schema.OpenAPIV3Schema)
			for _, column := range v.AdditionalPrinterColumns {
				if column.Description == "" {
					t.Errorf("%s: column %s has no description", crd.Name, column.Name)
				}
			}
		}
	}
}

func explained(t *testing.T, at string, s *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name, child := range s.Properties {
		// The API server adds the description of metadata.
		if child.Description == "" && name != "metadata" {
			t.Errorf("%s.%s has no description", at, name)
		}
		explained(t, at+"."+name, &child)
	}
	for _, rule := range s.XValidations {
		if len(strings.Fields(rule.Message)) < 4 {
			t.Errorf("%s: message %q of rule %q says too little", at, rule.Message, rule.Rule)
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		explained(t, at+"[]", s.Items.Schema)
	}
}

func TestEveryKindOfTheSchemeHasACRD(t *testing.T) {
	have := map[schema.GroupVersionKind]bool{}
	list, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range list {
		for _, v := range crd.Spec.Versions {
			have[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = true
		}
	}
	for gvk := range api.Scheme().AllKnownTypes() {
		ours := strings.HasPrefix(gvk.Group, "karpenter.") || strings.HasPrefix(gvk.Group, "autoscaling.")
		meta := strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") ||
			gvk.Kind == "WatchEvent" || gvk.Version == "__internal"
		if ours && !meta && !have[gvk] {
			t.Errorf("%s has no CRD", gvk)
		}
	}
}

func TestChartHasTheSameFiles(t *testing.T) {
	const chart = "../../charts/karpenter/crds"
	names, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inChart, err := filepath.Glob(filepath.Join(chart, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(inChart) != len(names) {
		t.Errorf("the chart has %d CRDs, want %d", len(inChart), len(names))
	}
	for _, name := range names {
		want, err := crds.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(chart, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs in the chart: run make gen", name)
		}
	}
}
