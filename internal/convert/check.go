package convert

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/api/admission"
	"github.com/karpenter-go/karpenter/api/legacy"
)

// check validates the Karpenter objects of the output against the schemas of the CRDs. It removes unknown fields of
// converted objects with a warning. For everything else that the API server or the controller would reject, it adds a
// warning with Invalid set. Values with template expressions are not checked.
func (c *converter) check() error {
	var objects []*object
	for _, d := range c.docs {
		for _, o := range d.objects {
			objects = append(append(objects, o), o.made...)
		}
	}
	objects = slices.DeleteFunc(objects, func(o *object) bool {
		return !strings.Contains(scalar(get(o.root, "apiVersion")), "karpenter")
	})
	if len(objects) == 0 {
		return nil
	}
	checker, err := schemas()
	if err != nil {
		return err
	}
	for _, o := range objects {
		c.verify(checker, o)
	}
	return nil
}

func (c *converter) verify(checker *admission.Checker, o *object) {
	c.names(o)
	for _, e := range refusals(checker, o) {
		path := e.Field
		if strings.Contains(e.Detail, "unknown field") && o.changed() {
			if f := removeAt(o.root, path); f != nil {
				c.warn(o, path, "not supported in v1, removed: %s", brief(f))
				continue
			}
		}
		if strings.Contains(e.Detail, "unknown field") {
			c.invalid(o, path, "the API server", "unknown field", "remove it or correct its name; if the manifest was written for"+
				" v1beta1, set that apiVersion and convert it again")
			continue
		}
		if o.doc.template.in(e.Error() + scalar(atPath(o.root, path))) {
			continue // the value is unknown before the template is rendered
		}
		c.invalid(o, path, "the API server", e.ErrorBody(), "correct the value in the input")
	}
}

// invalid adds a warning with Invalid set about a field of the output. server is the component that rejects the
// field.
func (c *converter) invalid(o *object, field, server, problem, fix string) {
	c.warn(o, field, "invalid in v1, %s rejects it: %s; fix: %s", server, problem, fix)
	c.warnings[len(c.warnings)-1].Invalid = true
}

// names checks rules that are not in the schemas: those of the API server for the object's name, and those of the
// controller for values of requirements.
func (c *converter) names(o *object) {
	t := o.doc.template
	name := scalar(at(o.root, "metadata", "name"))
	if wrong := validation.NameIsDNSSubdomain(name, false); name != "" && !t.in(name) && len(wrong) > 0 {
		c.invalid(o, "metadata.name", "the API server", fmt.Sprintf("%q: %s", name, wrong[0]), "correct the name in the input")
	}
	for _, path := range []string{"spec.template.spec.requirements", "spec.requirements"} {
		list := atPath(o.root, path)
		if list == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		for i, r := range list.Content {
			values := get(r, "values")
			if values == nil || values.Kind != yaml.SequenceNode {
				continue
			}
			for j, v := range values.Content {
				if wrong := apivalidation.IsValidLabelValue(v.Value); v.Kind == yaml.ScalarNode && !t.in(v.Value) && len(wrong) > 0 {
					c.invalid(o, fmt.Sprintf("%s[%d].values[%d]", path, i, j), "the controller", fmt.Sprintf("%q: %s", v.Value, wrong[0]),
						"correct the value in the input")
				}
			}
		}
	}
}

// changed reports whether the conversion converts or creates the object. All other objects must stay as they are.
func (o *object) changed() bool {
	return o.form != legacy.Foreign || !slices.Contains(o.doc.objects, o)
}

// refusals returns the errors with which an API server would reject the object, sorted by their text. It returns nil
// if the object cannot be read as JSON, or if its kind is not one of Karpenter.
func refusals(checker *admission.Checker, o *object) field.ErrorList {
	out, err := encode(o.root, false)
	if err != nil {
		return nil
	}
	u := &unstructured.Unstructured{}
	asJSON, err := k8syaml.YAMLToJSON([]byte(out))
	if err != nil || u.UnmarshalJSON(asJSON) != nil || !checker.Knows(u.GroupVersionKind()) {
		return nil
	}
	unstructured.RemoveNestedField(u.Object, "status")
	_, errs := checker.Create(context.Background(), u)
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// step matches one step of a path: a key, or an index or key in brackets.
var step = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)

// atPath returns the node at a path such as spec.taints[0].key, nil if there is none.
func atPath(n *yaml.Node, path string) *yaml.Node {
	for _, s := range step.FindAllString(path, -1) {
		if n == nil {
			return nil
		}
		if i, ok := position(s); ok && n.Kind == yaml.SequenceNode {
			if i >= len(n.Content) {
				return nil
			}
			n = n.Content[i]
			continue
		}
		n = get(n, strings.Trim(s, "[]"))
	}
	return n
}

// position returns the index in a step such as [2], and false if the step is not an index.
func position(s string) (int, bool) {
	i, err := strconv.Atoi(strings.Trim(s, "[]"))
	return i, err == nil && i >= 0 && strings.HasPrefix(s, "[")
}

// removeAt removes a field from a tree and returns its value, nil if it does not exist.
func removeAt(root *yaml.Node, path string) *yaml.Node {
	cut := strings.LastIndexByte(path, '.')
	if cut < 0 {
		return take(root, path).value
	}
	return take(atPath(root, path[:cut]), path[cut+1:]).value
}

// lostExpressions warns about template expressions of converted documents that are not in the output. If a document
// has statements, lostExpressions also warns that the user must check or restore their positions.
func (c *converter) lostExpressions() {
	if len(c.expressions.list) == 0 {
		return
	}
	texts := make([]string, len(c.docs))
	for i, d := range c.docs {
		if text, err := d.text(); err == nil {
			texts[i] = text
		}
	}
	all := strings.Join(texts, "")
	for i, d := range c.docs {
		if !d.legacy {
			continue
		}
		for _, e := range d.template.own {
			if !strings.Contains(all, e) && output.FindStringSubmatch(e) == nil {
				c.warn(d.objects[0], "", "removed the template expression %s with the field that contained it",
					strings.Join(strings.Fields(e), " "))
			}
		}
		before, after := statements(d.template.show(strings.Join(d.template.raw, ""))), statements(texts[i])
		switch {
		case !slices.Equal(before, after):
			c.warn(d.objects[0], "", "template statements are in another order because fields were moved; fix: restore their order by hand")
		case len(before) > 0:
			c.warn(d.objects[0], "", "contains template statements; fix: check their placement")
		}
	}
}

// inside matches old API versions of Karpenter anywhere in a text.
var inside = regexp.MustCompile(`(karpenter\.(?:sh/v1(?:alpha[2-5]|beta1)|k8s\.aws/v1(?:alpha1|beta1)))(?:[^-\w]|$)`)

// look warns about old API versions, annotations and labels in a document that is not converted.
func (c *converter) look(d *document) {
	o := &object{doc: d}
	if len(d.objects) > 0 {
		o = d.objects[0]
	}
	number := 0
	for line := range strings.Lines(d.body) {
		number++
		if found := inside.FindStringSubmatch(line); found != nil && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			c.warn(o, "line "+strconv.Itoa(number), "contains %s embedded in another document, copied unchanged; fix:"+
				" extract the manifest and convert it separately", found[1])
		}
		if kubelet := leftovers[0]; strings.Contains(line, kubelet[0]) {
			c.warn(o, "line "+strconv.Itoa(number), "annotation %s has no effect in v1, copied unchanged; fix: move its kubelet"+
				" settings to spec.kubelet of the EC2NodeClass", kubelet[0])
		}
		for _, key := range slices.Sorted(maps.Keys(legacy.Renamed)) {
			if strings.Contains(line, key) && !strings.Contains(line, key+"-") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
				c.warn(o, "line "+strconv.Itoa(number), "%s was renamed to %s in v1, copied unchanged; fix: rename it", key, legacy.Renamed[key])
			}
		}
	}
}

// statements returns the template statements of a text, in order.
func statements(text string) []string {
	return slices.DeleteFunc(expression.FindAllString(text, -1), func(e string) bool { return !control.MatchString(e) })
}
