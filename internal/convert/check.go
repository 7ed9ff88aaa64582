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

// check holds everything that comes out against the schemas of the CRDs: fields that no schema knows are taken out and
// named, all else that a server would refuse is named.
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
				c.warn(o, path, "has no place in v1 and is left out: %s", brief(f))
				continue
			}
		}
		if strings.Contains(e.Detail, "unknown field") {
			c.warn(o, path, "is no field of v1: the API server will refuse it; if the manifest was written for v1beta1, say so in its"+
				" apiVersion and convert it again")
			continue
		}
		if o.doc.template != nil && o.doc.template.in(e.Error()+scalar(atPath(o.root, path))) {
			continue // whether the value is good shows when the template is filled in
		}
		c.warn(o, path, "the API server will refuse it: %s", e.ErrorBody())
	}
}

// names looks at what the schemas leave to others: the object's name, which the server judges, and the values of
// requirements, which the controller does.
func (c *converter) names(o *object) {
	t := o.doc.template
	name := scalar(at(o.root, "metadata", "name"))
	if wrong := validation.NameIsDNSSubdomain(name, false); name != "" && !t.in(name) && len(wrong) > 0 {
		c.warn(o, "metadata.name", "the API server will refuse it: %q: %s", name, wrong[0])
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
					c.warn(o, fmt.Sprintf("%s[%d].values[%d]", path, i, j), "the controller will refuse it: %q: %s", v.Value, wrong[0])
				}
			}
		}
	}
}

// changed reports whether the object is converted, so that it may be changed.
func (o *object) changed() bool {
	return o.form != legacy.Foreign || !slices.Contains(o.doc.objects, o)
}

// refusals are what an API server would say against an object of a kind that we know.
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

// step matches one step of a path: a key, or an index.
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

// position reads a step that is an index.
func position(s string) (int, bool) {
	i, err := strconv.Atoi(strings.Trim(s, "[]"))
	return i, err == nil && i >= 0 && strings.HasPrefix(s, "[")
}

// removeAt takes a field out of a tree and returns its value, nil if it is not there.
func removeAt(root *yaml.Node, path string) *yaml.Node {
	cut := strings.LastIndexByte(path, '.')
	if cut < 0 {
		return take(root, path).value
	}
	return take(atPath(root, path[:cut]), path[cut+1:]).value
}

// expressions names template expressions that did not make it into the output.
func (c *converter) expressions(d *document) {
	out, err := d.text()
	if err != nil {
		return
	}
	kept := d.template.show(out)
	for _, e := range d.template.expressions {
		if !strings.Contains(kept, e) && output.FindStringSubmatch(e) == nil {
			c.warn(d.objects[0], "", "the template expression %s is left out with what it belonged to",
				strings.Join(strings.Fields(e), " "))
		}
	}
	before, after := statements(d.template.show(d.template.hidden)), statements(kept)
	switch {
	case !slices.Equal(before, after):
		c.warn(d.objects[0], "", "template statements stand in another order now, because fields have moved: put them right by hand")
	case len(before) > 0:
		c.warn(d.objects[0], "", "holds template statements; look whether they still surround what they did")
	}
}

// inside matches what names the old API in the middle of a document that is not of it.
var inside = regexp.MustCompile(`(karpenter\.(?:sh/v1(?:alpha[2-5]|beta1)|k8s\.aws/v1(?:alpha1|beta1)))(?:[^-\w]|$)`)

// look warns about what a document that needs no conversion itself still has of the old API.
func (c *converter) look(d *document) {
	o := &object{doc: d}
	if len(d.objects) > 0 {
		o = d.objects[0]
	}
	number := 0
	for line := range strings.Lines(d.body) {
		number++
		if found := inside.FindStringSubmatch(line); found != nil && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			c.warn(o, "line "+strconv.Itoa(number), "speaks of %s in the middle of another document, which is passed on as it is:"+
				" take the manifest out and convert it", found[1])
		}
		if kubelet := leftovers[0]; strings.Contains(line, kubelet[0]) {
			c.warn(o, "line "+strconv.Itoa(number), "%s holds %s; this document is passed on as it is", kubelet[0], kubelet[1])
		}
		for _, key := range slices.Sorted(maps.Keys(legacy.Renamed)) {
			if strings.Contains(line, key) && !strings.Contains(line, key+"-") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
				c.warn(o, "line "+strconv.Itoa(number), "%s is called %s now; this document is passed on as it is", key, legacy.Renamed[key])
			}
		}
	}
}

// statements returns the template statements of a text, in order.
func statements(text string) []string {
	return slices.DeleteFunc(expression.FindAllString(text, -1), func(e string) bool { return !control.MatchString(e) })
}
