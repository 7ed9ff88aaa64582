package clusterapi

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Groups and version of the hollow providers.
const (
	InfrastructureGroup = "infrastructure.cluster.x-k8s.io"
	BootstrapGroup      = "bootstrap.cluster.x-k8s.io"
	controlPlaneGroup   = "controlplane.cluster.x-k8s.io"
	version             = "v1"
)

// The kinds of the hollow providers.
var (
	hollowCluster         = schema.GroupVersionKind{Group: InfrastructureGroup, Version: version, Kind: "HollowCluster"}
	hollowMachine         = schema.GroupVersionKind{Group: InfrastructureGroup, Version: version, Kind: "HollowMachine"}
	hollowMachineTemplate = schema.GroupVersionKind{Group: InfrastructureGroup, Version: version, Kind: "HollowMachineTemplate"}
	hollowConfig          = schema.GroupVersionKind{Group: BootstrapGroup, Version: version, Kind: "HollowConfig"}
	hollowConfigTemplate  = schema.GroupVersionKind{Group: BootstrapGroup, Version: version, Kind: "HollowConfigTemplate"}
	hollowControlPlane    = schema.GroupVersionKind{Group: controlPlaneGroup, Version: version, Kind: "HollowControlPlane"}
)

// definitions returns the CRDs of the hollow providers. Their label names the contract of Cluster API that they
// implement.
func definitions() []*apiextensionsv1.CustomResourceDefinition {
	var out []*apiextensionsv1.CustomResourceDefinition
	open := true
	for _, kind := range []schema.GroupVersionKind{
		hollowCluster, hollowMachine, hollowMachineTemplate, hollowConfig, hollowConfigTemplate, hollowControlPlane,
	} {
		plural := strings.ToLower(kind.Kind) + "s"
		anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}
		crd := &apiextensionsv1.CustomResourceDefinition{
			TypeMeta: metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{
				Name: plural + "." + kind.Group, Labels: map[string]string{"cluster.x-k8s.io/v1beta2": version},
			},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{
					Plural: plural, Singular: strings.ToLower(kind.Kind), Kind: kind.Kind, ListKind: kind.Kind + "List",
				},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: version, Served: true, Storage: true,
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": anything, "status": anything},
					}},
				}},
			},
		}
		out = append(out, crd)
	}
	return out
}

// empty returns an empty object of the kind.
func empty(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}
