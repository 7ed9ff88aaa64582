package doctor

import (
	"context"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/crds"
	"github.com/karpenter-go/karpenter/internal/finding"
)

// fields reports the fields that the CRDs of this version have and those of the cluster lack. The API server removes such fields from
// objects without an error. Helm does not upgrade CRDs, so old ones stay.
func (c *Cluster) fields(ctx context.Context) {
	all, err := crds.All()
	if err != nil {
		c.unread("crd-fields", err)
		return
	}
	for _, want := range all {
		have := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Client.Get(ctx, client.ObjectKey{Name: want.Name}, have)
		if apierrors.IsNotFound(err) {
			continue // reported by crds
		}
		if err != nil {
			return // reported by storedVersions
		}
		var lacks []string
		for _, v := range want.Spec.Versions {
			i := slices.IndexFunc(have.Spec.Versions, func(h apiextensionsv1.CustomResourceDefinitionVersion) bool { return h.Name == v.Name })
			if i >= 0 && have.Spec.Versions[i].Schema != nil {
				lacks = append(lacks, missingFields("", v.Schema.OpenAPIV3Schema, have.Spec.Versions[i].Schema.OpenAPIV3Schema)...)
			}
		}
		if len(lacks) > 0 {
			c.found("crd-fields", finding.Warning, "upgrade the CRDs with the chart karpenter-crd",
				"CustomResourceDefinition %s lacks fields of this version: the API server removes %s from objects", want.Name, strings.Join(lacks, ", "))
		}
	}
}

// missingFields returns the paths of the fields of want that have removes, in the order of their names. Of a field that is missing, its
// own fields are left out.
func missingFields(path string, want, have *apiextensionsv1.JSONSchemaProps) (out []string) {
	if want == nil || have == nil || have.XPreserveUnknownFields != nil && *have.XPreserveUnknownFields {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(want.Properties)) {
		w, at := want.Properties[name], strings.TrimPrefix(path+"."+name, ".")
		if h, ok := have.Properties[name]; ok {
			out = append(out, missingFields(at, &w, &h)...)
		} else if have.AdditionalProperties == nil {
			out = append(out, at)
		}
	}
	if want.Items != nil && have.Items != nil {
		out = append(out, missingFields(path+"[]", want.Items.Schema, have.Items.Schema)...)
	}
	if want.AdditionalProperties != nil && have.AdditionalProperties != nil {
		out = append(out, missingFields(path+".*", want.AdditionalProperties.Schema, have.AdditionalProperties.Schema)...)
	}
	return out
}
