package main

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// Formats of Kubernetes that are not in the schemas generated from its types.
const (
	qualifiedName = `^([a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	labelValue    = `^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
)

// schema is a short name for the type of schemas.
type schema = apiextensionsv1.JSONSchemaProps

// patch adds to a CRD the rules that markers cannot express.
func patch(crd *apiextensionsv1.CustomResourceDefinition) error {
	edits := map[string][]func(*schema) error{
		"NodePool": {
			labelValues("spec.template.metadata.labels"),
			taints("spec.template.spec.taints"),
			taints("spec.template.spec.startupTaints"),
			awsLabels("spec.template.metadata.labels", awsClaimKeys),
			awsRequirements("spec.template.spec.requirements", awsClaimKeys),
		},
		"NodeClaim": {
			taints("spec.taints"),
			taints("spec.startupTaints"),
			awsRequirements("spec.requirements", awsClaimKeys),
			relaxedConditions("status.conditions"),
		},
		"NodeOverlay": {
			awsRequirements("spec.requirements", awsOverlayKeys()),
		},
	}
	for i := range crd.Spec.Versions {
		for _, edit := range edits[crd.Spec.Names.Kind] {
			if err := edit(crd.Spec.Versions[i].Schema.OpenAPIV3Schema); err != nil {
				return err
			}
		}
	}
	return nil
}

// edit changes the schema at a path of property names in place. In a path, "[]" means the items of a list.
func edit(root *schema, path string, change func(*schema)) error {
	name, rest, more := strings.Cut(path, ".")
	if name == "[]" {
		if root.Items == nil || root.Items.Schema == nil {
			return fmt.Errorf("find items at %s: not a list", path)
		}
		if more {
			return edit(root.Items.Schema, rest, change)
		}
		change(root.Items.Schema)
		return nil
	}
	child, ok := root.Properties[name]
	if !ok {
		return fmt.Errorf("find property %s: no such property", path)
	}
	if more {
		if err := edit(&child, rest, change); err != nil {
			return err
		}
	} else {
		change(&child)
	}
	root.Properties[name] = child
	return nil
}

// labelValues adds the limits on values of a map of labels.
func labelValues(path string) func(*schema) error {
	return func(root *schema) error {
		return edit(root, path, func(s *schema) {
			s.AdditionalProperties.Schema.MaxLength = ptr.To[int64](63)
			s.AdditionalProperties.Schema.Pattern = labelValue
		})
	}
}

// taints adds the API server's rules for taints of nodes to a list of taints.
func taints(path string) func(*schema) error {
	return func(root *schema) error {
		return edit(root, path+".[]", func(s *schema) {
			key, value, effect := s.Properties["key"], s.Properties["value"], s.Properties["effect"]
			key.Description = "Key of the taint, a qualified name such as example.com/gpu."
			key.MinLength, key.Pattern = ptr.To[int64](1), qualifiedName
			value.Description = "Value of the taint. Tolerations may ask for it."
			value.Pattern = `^(` + strings.Trim(qualifiedName, "^$") + `)?$`
			effect.Description = "What happens to pods that do not tolerate the taint: NoSchedule, " +
				"PreferNoSchedule or NoExecute."
			effect.Enum = []apiextensionsv1.JSON{
				{Raw: []byte(`"NoSchedule"`)}, {Raw: []byte(`"PreferNoSchedule"`)}, {Raw: []byte(`"NoExecute"`)},
			}
			added := s.Properties["timeAdded"]
			added.Description = "When the taint was added. Not used by Karpenter."
			s.Description = "A taint keeps pods off a node unless they tolerate it."
			s.Properties["key"], s.Properties["value"] = key, value
			s.Properties["effect"], s.Properties["timeAdded"] = effect, added
			s.Required = []string{"effect", "key"}
		})
	}
}

// relaxedConditions allows conditions of a NodeClaim without reason or message. NodeClaims of old versions have such
// conditions, and upstream's schema allows them.
func relaxedConditions(path string) func(*schema) error {
	return func(root *schema) error {
		return edit(root, path+".[]", func(s *schema) {
			reason := s.Properties["reason"]
			reason.MinLength = nil
			reason.Pattern = `^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$`
			s.Properties["reason"] = reason
			s.Required = []string{"lastTransitionTime", "status", "type"}
		})
	}
}

// awsDomain is the label domain of the AWS provider.
const awsDomain = "karpenter.k8s.aws"

// inAWSDomain matches keys whose domain ends in karpenter.k8s.aws, and keys without a domain that end in it. The
// pattern in upstream's schemas matches the same keys.
const inAWSDomain = `^[^/]*karpenter[.]k8s[.]aws(/|$)`

// awsLabels allows in a map of labels only those keys of the AWS domain that are in names.
func awsLabels(path string, names []string) func(*schema) error {
	return func(root *schema) error {
		return edit(root, path, func(s *schema) {
			allowed := fmt.Sprintf("!k.matches('%s') || k in [%s]", inAWSDomain, keyList(names))
			message := "labels of the domain " + awsDomain + " are limited to those that instance types have"
			s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{
				Rule:              fmt.Sprintf("self.all(k, %s)", allowed),
				Message:           message,
				MessageExpression: fmt.Sprintf("self.filter(k, !(%s))[0] + ': %s'", allowed, message),
			})
		})
	}
}

// awsRequirements allows in a list of requirements only those keys of the AWS domain that are in names.
func awsRequirements(path string, names []string) func(*schema) error {
	return func(root *schema) error {
		return edit(root, path+".[]", func(s *schema) {
			message := "a requirement may use only those labels of the domain " + awsDomain + " that instance types have"
			s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{
				Rule:              fmt.Sprintf("!self.key.matches('%s') || self.key in [%s]", inAWSDomain, keyList(names)),
				Message:           message,
				MessageExpression: fmt.Sprintf("'requirement on ' + self.key + ': %s'", message),
				FieldPath:         ".key",
			})
		})
	}
}

// keyList returns the items of a CEL list: the keys of the AWS domain with these names, sorted.
func keyList(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, name := range slices.Sorted(slices.Values(names)) {
		quoted = append(quoted, fmt.Sprintf("'%s/%s'", awsDomain, name))
	}
	return strings.Join(quoted, ", ")
}

// awsClaimKeys are the labels of the AWS domain that pools and claims may use.
var awsClaimKeys = []string{
	"capacity-reservation-id", "capacity-reservation-interruptible", "capacity-reservation-type",
	"ec2nodeclass",
	"instance-accelerator-count", "instance-accelerator-manufacturer", "instance-accelerator-name",
	"instance-capability-flex", "instance-category",
	"instance-cpu", "instance-cpu-manufacturer", "instance-cpu-sustained-clock-speed-mhz",
	"instance-ebs-bandwidth", "instance-encryption-in-transit-supported",
	"instance-family", "instance-generation",
	"instance-gpu-count", "instance-gpu-manufacturer", "instance-gpu-memory", "instance-gpu-name",
	"instance-hypervisor", "instance-local-nvme", "instance-memory", "instance-network-bandwidth",
	"instance-size", "instance-tenancy",
	"placement-group-id", "placement-group-partition",
}

// awsOverlayKeys returns the keys that an overlay may use. Labels of single instances are excluded, because they do
// not depend on the type alone.
func awsOverlayKeys() []string {
	return slices.DeleteFunc(slices.Clone(awsClaimKeys), func(name string) bool {
		return name == "instance-tenancy" || strings.HasPrefix(name, "capacity-reservation-") ||
			strings.HasPrefix(name, "placement-group-")
	})
}
