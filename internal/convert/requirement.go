package convert

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/legacy"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// freehand maps fields that no version has, but that some manifests use for lists of values, to the label of the
// requirement.
var freehand = []struct{ field, label string }{
	{"instanceTypes", "node.kubernetes.io/instance-type"},
	{"instanceType", "node.kubernetes.io/instance-type"},
	{"instanceFamilies", "karpenter.k8s.aws/instance-family"},
	{"instanceFamily", "karpenter.k8s.aws/instance-family"},
	{"instanceCategories", "karpenter.k8s.aws/instance-category"},
	{"instanceCategory", "karpenter.k8s.aws/instance-category"},
	{"instanceSizes", "karpenter.k8s.aws/instance-size"},
	{"instanceSize", "karpenter.k8s.aws/instance-size"},
	{"zones", "topology.kubernetes.io/zone"},
	{"zone", "topology.kubernetes.io/zone"},
	{"availabilityZones", "topology.kubernetes.io/zone"},
	{"architecture", "kubernetes.io/arch"},
	{"architectures", "kubernetes.io/arch"},
	{"arch", "kubernetes.io/arch"},
	{"operatingSystem", "kubernetes.io/os"},
	{"operatingSystems", "kubernetes.io/os"},
	{"os", "kubernetes.io/os"},
	{"capacityType", "karpenter.sh/capacity-type"},
	{"capacityTypes", "karpenter.sh/capacity-type"},
}

// setRequirements converts the requirements of a NodePool.
func (p *pool) setRequirements(c *converter, old, inner *yaml.Node) {
	list := get(inner, "requirements")
	if list == nil || null(list) {
		list = sequence()
		set(inner, "requirements", list)
	}
	if list.Kind != yaml.SequenceNode {
		if !p.doc.template.in(list.Value) {
			c.warn(p.object, "spec.requirements", "not a list, removed: %s", brief(list))
			*list = *sequence()
		} else {
			if p.alpha && !c.options.IgnoreDefaults {
				c.warn(p.object, "spec.requirements", "value is a template expression: the v1alpha5 default requirements were not"+
					" added; fix: add them, see docs/convert.md")
			}
			return
		}
	}
	c.requirements(p.object, "spec.requirements", list)
	for _, from := range []place{{"spec", old}, {"spec.template.spec", inner}} {
		p.listed(c, from.path, from.node, list)
	}
	if p.inline != nil {
		p.listed(c, p.inlinePath, p.inline, list)
	}
	if p.alpha && !c.options.IgnoreDefaults {
		p.addDefaults(c, list, at(p.root, "spec", "template", "metadata", "labels"))
	}
}

// listed converts lists of values in the fields of freehand to requirements.
func (p *pool) listed(c *converter, path string, m, list *yaml.Node) {
	for _, f := range freehand {
		found := take(m, f.field)
		if !found.ok() {
			continue
		}
		values := found.value
		if values.Kind == yaml.ScalarNode {
			values = sequence(values)
		}
		if values.Kind != yaml.SequenceNode || slices.ContainsFunc(values.Content, func(v *yaml.Node) bool { return v.Kind != yaml.ScalarNode }) {
			c.warn(p.object, path+"."+f.field, "not supported in v1, removed: %s", brief(values))
			continue
		}
		c.warn(p.object, path+"."+f.field, "unknown field, interpreted as a requirement on %s", f.label)
		list.Content = append(list.Content, mapping("key", f.label, "operator", "In", "values", values))
		list.Style = 0
	}
}

// requirements converts a list of requirements in place. It removes those whose key v1 does not allow, with a
// warning.
func (c *converter) requirements(o *object, path string, list *yaml.Node) {
	kept := list.Content[:0:0]
	for i, r := range list.Content {
		field := fmt.Sprintf("%s[%d]", path, i)
		if r.Kind != yaml.MappingNode {
			kept = append(kept, r)
			continue
		}
		key := scalar(get(r, "key"))
		if now := meant(key); now != "" {
			c.warn(o, field+".key", "unknown label %s, interpreted as %s", key, now)
			get(r, "key").Value, key = now, now
		}
		if why := unusable(key); why != "" {
			c.warn(o, field+".key", "removed because %s: %s", why, brief(r))
			continue
		}
		if now, ok := legacy.Renamed[key]; ok {
			c.warn(o, field+".key", "%s renamed to %s", key, now)
			get(r, "key").Value = now
		}
		c.operator(o, field, r)
		kept = append(kept, r)
	}
	list.Content = kept
}

// meant returns the well-known label of which key is an obvious misspelling, "" if there is none or the key is right.
func meant(key string) string {
	domain, name, _ := strings.Cut(key, "/")
	if key == "kubernetes.io/instance-type" { // the documentation of the first versions had this key
		return "node.kubernetes.io/instance-type"
	}
	if domain != legacy.CoreGroup && domain != legacy.AWSGroup || awsv1.Labels().WellKnown.Has(key) || legacy.Renamed[key] != "" {
		return ""
	}
	aws := awsv1.Labels().WellKnown
	switch {
	case name == "instance-type":
		return "node.kubernetes.io/instance-type"
	case name == "zone" || name == "availability-zone":
		return "topology.kubernetes.io/zone"
	case name == "arch" || name == "os":
		return "kubernetes.io/" + name
	case name == "capacityType":
		return apiv1.CapacityTypeLabelKey
	case domain == legacy.CoreGroup && aws.Has(legacy.AWSGroup+"/"+name):
		return legacy.AWSGroup + "/" + name
	}
	return ""
}

// unusable returns the reason why v1 does not allow a key in requirements, "" if it does.
func unusable(key string) string {
	switch {
	case key == "karpenter.sh/provisioner-name" || key == "karpenter.sh/nodepool":
		return "nodes always have the name of their own NodePool"
	case strings.HasPrefix(key, awsv1.Group+"/") && legacy.Renamed[key] == "" && !awsv1.Labels().WellKnown.Has(key):
		return key + " is not a label of v1"
	case strings.HasPrefix(key, legacy.CoreGroup+"/") && key != apiv1.CapacityTypeLabelKey:
		return "labels of " + legacy.CoreGroup + " cannot be required, except karpenter.sh/capacity-type"
	}
	return ""
}

// operators are the operators of requirements in v1.
var operators = []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"}

// operator converts the operator and values of a requirement to v1.
func (c *converter) operator(o *object, field string, r *yaml.Node) {
	if n := get(r, "operator"); n != nil {
		for _, known := range operators {
			if strings.EqualFold(n.Value, known) && n.Value != known {
				c.warn(o, field+".operator", "%s converted to %s", n.Value, known)
				n.Value = known
			}
		}
	}
	values := get(r, "values")
	switch {
	case values == nil:
		return
	case null(values):
		take(r, "values")
		return
	case values.Kind == yaml.ScalarNode && !o.doc.template.in(values.Value):
		c.warn(o, field+".values", "converted to a list")
		set(r, "values", sequence(clone(values)))
		values = get(r, "values")
	}
	for i, v := range values.Content {
		at := fmt.Sprintf("%s.values[%d]", field, i)
		c.asText(o, at, v)
		if now := plainValues[scalar(get(r, "key"))][strings.ToLower(v.Value)]; now != "" && now != v.Value {
			c.warn(o, at, "%s converted to %s", v.Value, now)
			v.Value = now
		}
	}
}

// plainValues maps common spellings of label values, in lower case, to the right ones.
var plainValues = map[string]map[string]string{
	apiv1.CapacityTypeLabelKey: {"spot": "spot", "on-demand": "on-demand", "ondemand": "on-demand", "on_demand": "on-demand"},
	"kubernetes.io/arch":       {"amd64": "amd64", "x86_64": "amd64", "x86-64": "amd64", "arm64": "arm64", "aarch64": "arm64"},
	"kubernetes.io/os":         {"linux": "linux", "windows": "windows"},
}

// addDefaults adds the requirements that Provisioners had by default, except those for labels that the Provisioner sets or
// requires itself. The defaults for instance category and generation are added together, and only if it has neither of
// these labels, nor instance type or family. labels are the labels of its nodes.
func (p *pool) addDefaults(c *converter, list, labels *yaml.Node) {
	given := map[string]bool{}
	for _, r := range list.Content {
		given[apiv1.CoreLabels().Canonical(scalar(get(r, "key")))] = true
	}
	if labels != nil {
		for i := 0; i+1 < len(labels.Content); i += 2 {
			given[labels.Content[i].Value] = true
		}
	}
	var added []string
	add := func(key, operator string, values ...string) {
		nodes := make([]*yaml.Node, len(values))
		for i, v := range values {
			nodes[i] = quoted(v)
		}
		items := sequence(nodes...)
		items.Style = yaml.FlowStyle
		list.Style = 0
		list.Content = append(list.Content, mapping("key", key, "operator", operator, "values", items))
		added = append(added, fmt.Sprintf("%s %s %s", key, operator, strings.Join(values, ",")))
	}
	if !given["kubernetes.io/os"] {
		add("kubernetes.io/os", "In", "linux")
	}
	if !given["kubernetes.io/arch"] {
		add("kubernetes.io/arch", "In", "amd64")
	}
	if !given["karpenter.sh/capacity-type"] {
		add("karpenter.sh/capacity-type", "In", "on-demand")
	}
	if !given["node.kubernetes.io/instance-type"] && !given["karpenter.k8s.aws/instance-family"] &&
		!given["karpenter.k8s.aws/instance-category"] && !given["karpenter.k8s.aws/instance-generation"] {
		add("karpenter.k8s.aws/instance-category", "In", "c", "m", "r")
		add("karpenter.k8s.aws/instance-generation", "Gt", "2")
	}
	if len(added) > 0 {
		c.warn(p.object, "spec.requirements", "added the v1alpha5 default requirements: %s"+
			" (--ignore-defaults omits them)", strings.Join(added, "; "))
	}
}
