package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// A pool is a converted NodePool or NodeClaim, with the settings to move to its node class.
type pool struct {
	*object
	name string
	// class is the name of its node class: the scalar in nodeClassRef, so that a change also changes the output.
	class *yaml.Node
	// kubelet is the kubelet configuration for the node class, nil if the manifest has none.
	kubelet     *yaml.Node
	kubeletPath string
	// inline has node class fields that were in the NodePool. It is nil if there are none.
	inline     *yaml.Node
	inlinePath string
	// stood maps the name of a field of inline that was not in spec.provider to the path of the mapping that had the field.
	stood map[string]string
	// alpha is true for a Provisioner with the fields of that kind, and not those of a NodePool.
	alpha bool
}

// lift moves the fields of spec.<wrapper>, a mapping that no version has, to spec. It does not overwrite fields that
// spec already has.
func (c *converter) lift(o *object, spec *yaml.Node, wrapper string) {
	f := take(spec, wrapper)
	switch {
	case !f.ok():
		return
	case f.value.Kind != yaml.MappingNode:
		c.warn(o, "spec."+wrapper, "unknown field, removed: %s", brief(f.value))
		return
	}
	c.warn(o, "spec."+wrapper, "unknown field, its fields are interpreted as fields of spec")
	if o.lifted == nil {
		o.lifted = map[string]string{}
	}
	for i := 0; i+1 < len(f.value.Content); i += 2 {
		key, value := f.value.Content[i], f.value.Content[i+1]
		if get(spec, key.Value) != nil {
			c.warn(o, "spec."+wrapper+"."+key.Value, "removed because spec.%s is set: %s", key.Value, brief(value))
			continue
		}
		o.lifted[key.Value] = "spec." + wrapper
		put(spec, key.Value, pair{key, value})
	}
}

// written returns the path that a field of spec had in the input, before lift moved it.
func (o *object) written(field string) string {
	rest, ok := strings.CutPrefix(field, "spec.")
	if !ok {
		return field
	}
	key := rest
	if end := strings.IndexAny(rest, ".["); end >= 0 {
		key = rest[:end]
	}
	if stood := o.lifted[key]; stood != "" {
		return stood + "." + rest
	}
	return field
}

// warn adds a warning about a field of an object.
func (c *converter) warn(o *object, field, format string, args ...any) {
	field = o.written(field)
	c.warnings = append(c.warnings, Warning{
		File: o.doc.file, Document: o.doc.number, Object: o.label,
		Field: o.doc.template.show(field), Text: o.doc.template.show(fmt.Sprintf(format, args...)),
	})
}

// convert converts the legacy objects of a document in place, and calls look for documents without any.
func (c *converter) convert(d *document) {
	if !d.legacy {
		if !d.unread {
			c.look(d)
		}
		return
	}
	budget := maxNodes
	if err := expand(d.node, &budget); err != nil {
		c.warn(d.objects[0], "", "copied unchanged: %v; fix: write the manifest without YAML aliases", err)
		d.legacy = false
		return
	}
	for _, o := range slices.Clone(d.objects) {
		if o.form != legacy.Foreign {
			c.unquote(o, o.root)
		}
		if len(o.tell) > 0 {
			c.warn(o, "apiVersion", "v1, but interpreted as an older version because of these fields: %s",
				strings.Join(o.tell, ", "))
		}
		switch o.form {
		case legacy.Foreign:
		case legacy.Provisioner, legacy.NodePool:
			c.pool(o)
		case legacy.NodeTemplate, legacy.NodeClass:
			c.class(o)
		case legacy.NodeClaim, legacy.Machine:
			c.claim(o)
		}
	}
}

// curly are typographic quotation marks, which are ordinary characters in YAML.
const curly = "\u201c\u201d\u201e\u2018\u2019"

// unquote removes typographic quotation marks from the ends of scalars.
func (c *converter) unquote(o *object, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		if bare := strings.Trim(n.Value, curly); bare != n.Value {
			c.warn(o, "", "removed typographic quotes: %s converted to %s", n.Value, bare)
			n.Value = bare
		}
	}
	for _, child := range n.Content {
		c.unquote(o, child)
	}
}

// head sets apiVersion and kind and removes the fields that only the API server or a controller writes. It sets a
// missing name to default. It returns the spec and adds an empty one if there is none.
func (c *converter) head(o *object, apiVersion, kind string) *yaml.Node {
	for _, f := range [][2]string{{"apiVersion", apiVersion}, {"kind", kind}} {
		n := get(o.root, f[0]) // both exist: otherwise it would not be an object of Karpenter
		n.Value, n.Tag, n.Style = f[1], "!!str", 0
	}
	if p := take(o.root, "status"); p.ok() {
		c.warn(o, "status", "removed: the controller writes it")
	}
	metadata := get(o.root, "metadata")
	if metadata == nil || metadata.Kind != yaml.MappingNode {
		metadata = child(o.root, "metadata")
	}
	var served []string
	for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"} {
		if take(metadata, key).value != nil {
			served = append(served, key)
		}
	}
	if len(served) > 0 {
		c.warn(o, "metadata", "removed fields that the API server writes: %s", strings.Join(served, ", "))
	}
	if annotations := get(metadata, "annotations"); take(annotations, "kubectl.kubernetes.io/last-applied-configuration").ok() {
		c.warn(o, "metadata.annotations", "removed kubectl.kubernetes.io/last-applied-configuration: it contains the old version")
		if len(annotations.Content) == 0 {
			take(metadata, "annotations")
		}
	}
	if get(metadata, "name") == nil && get(metadata, "generateName") == nil {
		c.warn(o, "metadata.name", "not set: set to default")
		set(metadata, "name", text("default"))
	}
	for _, key := range []string{"annotations", "labels"} {
		c.strings(o, "metadata."+key, get(metadata, key))
	}
	spec := get(o.root, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		if spec != nil && !null(spec) {
			c.warn(o, "spec", "not a mapping, removed: %s", brief(spec))
		}
		spec = mapping()
		set(o.root, "spec", spec)
	}
	return spec
}

// pool converts a Provisioner or NodePool.
func (c *converter) pool(o *object) {
	p := &pool{object: o, alpha: o.form == legacy.Provisioner, inlinePath: "spec"}
	spec := c.head(o, legacy.CoreGroup+"/v1", "NodePool")
	p.name = scalar(at(o.root, "metadata", "name"))
	old := mapping()
	old.Content, spec.Content = spec.Content, nil
	old.HeadComment = spec.HeadComment
	put(spec, "template", take(old, "template"))
	template := child(spec, "template")
	if p.alpha && len(template.Content) > 0 {
		p.alpha = false // a Provisioner with a template has the fields of a NodePool
	}
	inner := child(template, "spec")
	p.lift(c, old, template, inner)
	p.inline = p.classFields(c, old, inner)
	p.leftByConversion(c)
	p.setRequirements(c, old, inner)
	p.setTaints(c, inner)
	p.setKubelet(c, old, inner)
	p.setReference(c, old, inner)
	p.setDisruption(c, old, spec, inner)
	p.setLimits(c, old, spec)
	if f := take(old, "replicas"); f.ok() {
		c.warn(p.object, "spec.replicas", "not a field of this version, copied unchanged: in v1 it makes the NodePool static (feature gate"+
			" StaticCapacity); fix: remove it, unless the NodePool should have a fixed number of nodes")
		put(spec, "replicas", f)
	}
	p.rest(c, old, "spec")
	p.restOf(c, inner, "spec.template.spec", poolSpecFields)
	p.restOf(c, template, "spec.template", []string{"metadata", "spec"})
	p.tidy(template, inner)
	p.lifted = nil
	c.pools = append(c.pools, p)
}

// leftovers are annotations that upstream's conversion webhook from v1beta1 to v1 wrote, each with the hint for its
// warning.
var leftovers = [][2]string{
	{"compatibility.karpenter.sh/v1beta1-kubelet-conversion", "fix: move its kubelet settings to spec.kubelet of the EC2NodeClass"},
	{"compatibility.karpenter.sh/v1beta1-nodeclass-reference", "v1 uses spec.template.spec.nodeClassRef"},
}

// leftByConversion removes the annotations in leftovers.
func (p *pool) leftByConversion(c *converter) {
	annotations := at(p.root, "metadata", "annotations")
	for _, l := range leftovers {
		if f := take(annotations, l[0]); f.ok() {
			c.warn(p.object, "metadata.annotations["+l[0]+"]", "removed, without effect in v1: %s; %s", brief(f.value), l[1])
		}
	}
}

// poolFields are the fields of the spec of a NodePool or Provisioner, of any version, whose spelling is corrected.
var poolFields = []string{
	"template", "disruption", "limits", "weight", "requirements", "labels", "annotations", "taints", "startupTaints", "provider",
	"providerRef", "kubeletConfiguration", "consolidation", "ttlSecondsAfterEmpty", "ttlSecondsUntilExpired",
	"consolidationPolicy", "consolidateAfter", "budgets", "expireAfter", "nodeClassRef",
}

// poolSpecFields are the fields of spec.template.spec of a NodePool in v1.
var poolSpecFields = []string{
	"requirements", "taints", "startupTaints", "nodeClassRef", "expireAfter", "terminationGracePeriod",
}

// A place is a mapping and its path.
type place struct {
	path string
	node *yaml.Node
}

// lift moves labels and annotations to the metadata of the template, and requirements, taints and the grace period to
// its spec. old has the fields of the NodePool's spec.
func (p *pool) lift(c *converter, old, template, inner *yaml.Node) {
	c.lift(p.object, old, "deprovisioning")
	c.spell(p.object, "spec", old, poolFields)
	for _, key := range []string{"labels", "annotations"} {
		for _, from := range []place{{"spec", old}, {"spec.template", template}, {"spec.template.spec", inner}} {
			f := take(from.node, key)
			if !f.ok() {
				continue
			}
			metadata := child(template, "metadata")
			if have := get(metadata, key); have != nil && have.Kind == yaml.MappingNode && f.value.Kind == yaml.MappingNode {
				have.Content = append(have.Content, f.value.Content...)
				continue
			}
			if have := get(metadata, key); have != nil && !null(have) {
				c.warn(p.object, from.path+"."+key, "removed because spec.template.metadata.%s is set: %s", key, brief(f.value))
				continue
			}
			put(metadata, key, f)
		}
	}
	if metadata := get(template, "metadata"); metadata != nil {
		p.metadata(c, metadata)
	}
	for _, key := range []string{"requirements", "taints", "startupTaints", "terminationGracePeriod"} {
		f := take(old, key)
		if f.value == nil {
			continue
		}
		if get(inner, key) != nil {
			c.warn(p.object, "spec."+key, "removed because spec.template.spec.%s is set: %s", key, brief(f.value))
			continue
		}
		put(inner, key, f)
	}
	if f := get(inner, "terminationGracePeriod"); f != nil {
		p.duration(c, "spec.template.spec.terminationGracePeriod", f)
	}
}

// metadata converts labels and annotations of a pool's nodes.
func (p *pool) metadata(c *converter, metadata *yaml.Node) {
	labels := get(metadata, "labels")
	c.strings(p.object, "spec.template.metadata.labels", labels)
	c.strings(p.object, "spec.template.metadata.annotations", get(metadata, "annotations"))
	for _, key := range []string{"karpenter.sh/provisioner-name", "karpenter.sh/nodepool", "kubernetes.io/hostname"} {
		if f := take(labels, key); f.value != nil {
			c.warn(p.object, "spec.labels["+key+"]", "removed: nodes get karpenter.sh/nodepool and kubernetes.io/hostname automatically")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(legacy.Renamed)) {
		if f := take(get(metadata, "annotations"), key); f.value != nil {
			now := legacy.Renamed[key]
			c.warn(p.object, "spec.annotations["+key+"]", "renamed to %s", now)
			put(get(metadata, "annotations"), now, f)
		}
	}
	p.restOf(c, metadata, "spec.template.metadata", []string{"labels", "annotations"})
}

// strings converts the values of a mapping of labels or tags to strings.
func (c *converter) strings(o *object, field string, m *yaml.Node) {
	if m == nil || m.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		c.asText(o, field+"["+m.Content[i].Value+"]", m.Content[i+1])
	}
}

// oldBooleans are words that are booleans in YAML 1.1, which kubectl and the API server use.
var oldBooleans = []string{"y", "n", "yes", "no", "on", "off"}

// asText converts a scalar without quotes to a quoted string, if YAML could read it as another type. It converts null
// to the empty string.
func (c *converter) asText(o *object, field string, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || n.Style != 0 || n.Tag == "!!str" && !slices.Contains(oldBooleans, strings.ToLower(n.Value)) {
		return
	}
	if null(n) {
		n.Value, n.Tag, n.Style = "", "!!str", yaml.DoubleQuotedStyle
		return
	}
	c.warn(o, field, "%s converted to a string", n.Value)
	n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
}

// setTaints converts the keys, values and effects of taints to strings.
func (p *pool) setTaints(c *converter, inner *yaml.Node) {
	for _, list := range []string{"taints", "startupTaints"} {
		taints := get(inner, list)
		if taints == nil || taints.Kind != yaml.SequenceNode {
			continue
		}
		for i, taint := range taints.Content {
			for _, key := range []string{"key", "value", "effect"} {
				if v := get(taint, key); v != nil {
					c.asText(p.object, fmt.Sprintf("spec.%s[%d].%s", list, i, key), v)
				}
			}
		}
	}
}

// setLimits converts limits, moving the fields of limits.resources to limits, and the weight.
func (p *pool) setLimits(c *converter, old, spec *yaml.Node) {
	f := take(old, "limits")
	if f.ok() {
		for resources := take(f.value, "resources"); resources.value != nil; resources = take(f.value, "resources") {
			if resources.value.Kind == yaml.MappingNode {
				f.value.Content = append(f.value.Content, resources.value.Content...)
			} else if len(f.value.Content) == 0 {
				f.value = resources.value
			}
		}
		if f.value.Kind != yaml.MappingNode || len(f.value.Content) > 0 {
			put(spec, "limits", f)
		}
	}
	f = take(old, "weight")
	switch {
	case !f.ok():
	case scalar(f.value) == "0":
		c.warn(p.object, "spec.weight", "removed: 0 is the default, and v1 accepts 1 to 100")
	default:
		put(spec, "weight", f)
	}
}

// rest warns that the fields of m are removed because v1 does not support them, with a hint for some.
func (p *pool) rest(c *converter, m *yaml.Node, path string) {
	hints := map[string]string{
		"cluster":           "; fix: set settings.clusterName and settings.clusterEndpoint of the chart",
		"kubernetesVersion": "; nodes get the version of the control plane",
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key := m.Content[i].Value
		c.warn(p.object, path+"."+key, "not supported in v1, removed: %s%s", brief(m.Content[i+1]), hints[key])
	}
}

// restOf removes the fields of a mapping that are not in known, with warnings.
func (p *pool) restOf(c *converter, m *yaml.Node, path string, known []string) {
	left := mapping()
	for i := 0; i+1 < len(m.Content); {
		key := m.Content[i]
		if slices.Contains(known, key.Value) {
			i += 2
			continue
		}
		left.Content = append(left.Content, m.Content[i], m.Content[i+1])
		m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
	}
	p.rest(c, left, path)
}

// tidy moves metadata to the start of a template. If the conversion has created the template, tidy also sorts the
// fields of its spec.
func (p *pool) tidy(template, inner *yaml.Node) {
	if metadata := take(template, "metadata"); metadata.value != nil {
		if metadata.value.Kind != yaml.MappingNode || len(metadata.value.Content) > 0 {
			key := metadata.key
			if key == nil {
				key = text("metadata")
			}
			template.Content = append([]*yaml.Node{key, metadata.value}, template.Content...)
		}
	}
	if !p.alpha {
		return
	}
	ordered := mapping()
	for _, key := range poolSpecFields {
		put(ordered, key, take(inner, key))
	}
	inner.Content = append(ordered.Content, inner.Content...)
}
