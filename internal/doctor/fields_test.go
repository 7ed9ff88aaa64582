package doctor

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-go/karpenter/api/crds"
)

// CRDs of this version give no finding. An older CRD, whose fields are fewer, gives one that names the fields.
func TestOldFields(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(c *apiextensionsv1.CustomResourceDefinition) bool { return c.Name == "nodepools.karpenter.sh" })
	pools := all[i]
	if text := look(t, server{"36", today}, "", append(running(), pools.DeepCopy())...); strings.Contains(text, "crd-fields") {
		t.Error(text)
	}
	spec := pools.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	delete(spec, "replicas")
	budgets := spec["disruption"].Properties["budgets"]
	delete(budgets.Items.Schema.Properties, "schedule")
	want := "CustomResourceDefinition nodepools.karpenter.sh lacks fields of this version: " +
		"the API server removes spec.disruption.budgets[].schedule, spec.replicas from objects"
	if text := look(t, server{"36", today}, "", append(running(), pools)...); !strings.Contains(text, "warning  crd-fields       "+want) {
		t.Error(text)
	}
}
