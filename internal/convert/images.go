package convert

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// families maps names of image families, in lower case, to the names in v1.
var families = map[string]string{
	"al2": "AL2", "al2023": "AL2023", "bottlerocket": "Bottlerocket", "custom": "Custom", "windows2019": "Windows2019",
	"windows2022": "Windows2022", "windows2025": "Windows2025",
	"amazonlinux2": "AL2", "amazonlinux2023": "AL2023",
}

// images converts the fields of a node class that select images. If there are no such fields, it writes the old
// default.
func (c *converter) images(o *object, path string, spec *yaml.Node) {
	c.selector(o, path, spec, "amiSelector", "amiSelectorTerms")
	if f := take(spec, "ami"); f.ok() && f.value.Kind == yaml.ScalarNode && get(spec, "amiSelectorTerms") == nil {
		c.warn(o, path+".ami", "unknown field, interpreted as amiSelectorTerms")
		set(spec, "amiSelectorTerms", sequence(mapping("id", f.value)))
	}
	terms := get(spec, "amiSelectorTerms")
	if terms != nil && (null(terms) || terms.Kind == yaml.SequenceNode && len(terms.Content) == 0) {
		take(spec, "amiSelectorTerms")
		terms = nil
	}
	family := get(spec, "amiFamily")
	if family != nil && null(family) {
		take(spec, "amiFamily")
		family = nil
	}
	if family != nil && strings.EqualFold(family.Value, "ubuntu") {
		c.ubuntu(o, path, spec, family)
		return
	}
	if family != nil {
		if known, ok := families[strings.ToLower(family.Value)]; ok && known != family.Value {
			c.warn(o, path+".amiFamily", "%s converted to %s", family.Value, known)
			family.Value = known
		}
	}
	if hasAlias(terms) {
		return
	}
	if terms != nil {
		if family == nil {
			c.warn(o, path+".amiFamily", "set to %s, the default before v1, because amiSelectorTerms has no alias",
				defaultFamily)
			set(spec, "amiFamily", text(defaultFamily))
		}
		return
	}
	c.alias(o, path, spec, family)
}

// defaultFamily is the image family that versions before v1 used for a manifest that does not set one.
const defaultFamily = "AL2"

// alias selects the newest image of the family, which was the old default, in a node class without amiSelectorTerms.
// For the family Custom, which has no such image, it adds a placeholder.
func (c *converter) alias(o *object, path string, spec, family *yaml.Node) {
	switch {
	case family == nil:
		c.warn(o, path+".amiFamily", "not set: amiSelectorTerms set to alias al2@latest, the default before v1; fix: use al2023@latest,"+
			" AL2 has no images for Kubernetes 1.33 and newer")
		set(spec, "amiSelectorTerms", sequence(mapping("alias", "al2@latest")))
	case family.Value == "Custom":
		c.warn(o, path+".amiSelectorTerms", "set to the placeholder tag karpenter.sh/discovery: %s, because amiFamily is Custom; fix: select"+
			" your images", c.cluster)
		c.insert(spec, "amiFamily", "amiSelectorTerms", sequence(mapping("tags", mapping("karpenter.sh/discovery", c.cluster))))
	default:
		name := strings.ToLower(family.Value)
		if o.doc.template.in(family.Value) {
			name = family.Value
			c.warn(o, path+".amiFamily", "value is a template expression, used in an alias; fix: make sure that it is in lower case")
		}
		if name == "al2" {
			c.warn(o, path+".amiFamily", "AL2 has no images for Kubernetes 1.33 and newer; fix: use alias al2023@latest")
		}
		c.insert(spec, "amiFamily", "amiSelectorTerms", sequence(mapping("alias", name+"@latest")))
	}
}

// insert adds a field after the field behind, or at the end if the mapping does not have that field.
func (c *converter) insert(m *yaml.Node, behind, key string, value *yaml.Node) {
	i := index(m, behind)
	if i < 0 {
		set(m, key, value)
		return
	}
	rest := append([]*yaml.Node{text(key), value}, m.Content[i+2:]...)
	m.Content = append(m.Content[:i+2:i+2], rest...)
}

// ubuntu converts the family Ubuntu, which v1 does not have, to AL2, whose user data Ubuntu images accept.
func (c *converter) ubuntu(o *object, path string, spec, family *yaml.Node) {
	family.Value = "AL2"
	if get(spec, "amiSelectorTerms") == nil {
		c.warn(o, path+".amiFamily", "Ubuntu is not supported in v1: set to AL2, which boots in the same way, with the image of Canonical's"+
			" SSM parameter; fix: replace KUBERNETES_VERSION by your version of Kubernetes, or select your own images")
		c.insert(spec, "amiFamily", "amiSelectorTerms", sequence(mapping("ssmParameter",
			"/aws/service/canonical/ubuntu/eks/22.04/KUBERNETES_VERSION/stable/current/amd64/hvm/ebs-gp2/ami-id")))
	} else {
		c.warn(o, path+".amiFamily", "Ubuntu is not supported in v1: set to AL2, which boots in the same way")
	}
	if get(spec, "blockDeviceMappings") == nil {
		c.warn(o, path+".blockDeviceMappings", "set to /dev/sda1, the root volume of Ubuntu images")
		set(spec, "blockDeviceMappings", sequence(mapping("deviceName", "/dev/sda1", "rootVolume", boolean(true), "ebs",
			mapping("volumeSize", "20Gi", "volumeType", "gp3", "encrypted", boolean(true)))))
	}
}

func boolean(b bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}
	if b {
		n.Value = "true"
	}
	return n
}

// hasAlias reports whether one of the terms is an alias.
func hasAlias(terms *yaml.Node) bool {
	if terms == nil || terms.Kind != yaml.SequenceNode {
		return false
	}
	for _, t := range terms.Content {
		if get(t, "alias") != nil {
			return true
		}
	}
	return false
}
