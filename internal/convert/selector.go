package convert

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxTerms is the maximum number of selector terms in v1.
const maxTerms = 30

// selector converts a selector to terms. A selector, the field old, is a map of tags with a few special keys; terms
// are in the field now. Terms that exist already win over the selector and are converted to v1. If there are no terms
// for subnets or security groups, selector adds a placeholder.
func (c *converter) selector(o *object, path string, spec *yaml.Node, old, now string) {
	terms := get(spec, now)
	if terms != nil && !null(terms) && (terms.Kind != yaml.SequenceNode || len(terms.Content) > 0) {
		if f := take(spec, old); f.ok() {
			c.warn(o, path+"."+old, "removed because %s is set: %s", now, brief(f.value))
		}
		c.terms(o, path+"."+now, terms)
		return
	}
	take(spec, now)
	f := rename(spec, old, now)
	switch {
	case f.ok() && f.value.Kind == yaml.MappingNode && len(f.value.Content) > 0:
		set(spec, now, c.termsOf(o, path+"."+old, f.value))
	case f.ok() && f.value.Kind == yaml.SequenceNode: // terms under the old name
		c.warn(o, path+"."+old, "list of terms, interpreted as %s", now)
		c.terms(o, path+"."+now, f.value)
	case f.ok() && o.doc.template.in(f.value.Value):
		c.warn(o, path+"."+old, "value is a template expression, interpreted as the tags of a term")
		set(spec, now, sequence(mapping("tags", f.value)))
	case now == "amiSelectorTerms":
		take(spec, now)
	default:
		c.warn(o, path+"."+now, "not set: set to the placeholder tag karpenter.sh/discovery: %s; fix: use your own tags or IDs", c.cluster)
		set(spec, now, sequence(mapping("tags", mapping("karpenter.sh/discovery", c.cluster))))
	}
}

// terms converts terms to v1.
func (c *converter) terms(o *object, path string, terms *yaml.Node) {
	if terms.Kind == yaml.MappingNode { // one term without a list
		c.warn(o, path, "converted to a list")
		one := *terms
		*terms = *sequence(&one)
	}
	for i, term := range terms.Content {
		c.strings(o, fmt.Sprintf("%s[%d].tags", path, i), get(term, "tags"))
	}
}

// special maps keys of old selectors that are not tags to the field of a term.
var special = map[string]string{
	"aws-ids": "id", "aws::ids": "id", "aws:ids": "id", "aws::name": "name", "aws::owners": "owner",
}

// termsOf converts a selector to terms. In a selector, values separated by commas were alternatives, and a subnet,
// security group or image had to match all keys.
func (c *converter) termsOf(o *object, path string, selector *yaml.Node) *yaml.Node {
	c.strings(o, path, selector)
	terms := []*yaml.Node{mapping()}
	ids := false
	for i := 0; i+1 < len(selector.Content); i += 2 {
		ids = ids || special[selector.Content[i].Value] == "id"
	}
	for i := 0; i+1 < len(selector.Content); i += 2 {
		key, value := selector.Content[i], selector.Content[i+1]
		field, isSpecial := special[key.Value]
		if ids && field != "id" {
			c.warn(o, path+"["+key.Value+"]", "removed: a term of v1 has either an ID or other fields: %s", brief(value))
			continue
		}
		var next []*yaml.Node
		for _, alternative := range alternatives(value) {
			for _, term := range terms {
				grown := clone(term)
				if isSpecial {
					set(grown, field, alternative)
				} else {
					put(child(grown, "tags"), key.Value, pair{clone(key), alternative})
				}
				next = append(next, grown)
			}
		}
		terms = next
	}
	if len(terms) > maxTerms {
		c.warn(o, path, "%d terms, but v1 accepts %d: the others are removed; fix: select by fewer tags", len(terms), maxTerms)
		terms = terms[:maxTerms]
	}
	return sequence(terms...)
}

// alternatives splits a value, or each item of a list, at its commas. If nothing is left, it returns *, which matches
// any value.
func alternatives(value *yaml.Node) []*yaml.Node {
	values := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		values = value.Content
	}
	var list []*yaml.Node
	for _, v := range values {
		for _, one := range strings.Split(v.Value, ",") {
			if one = strings.TrimSpace(one); one == "" {
				continue
			}
			n := clone(v)
			n.Value = one
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return []*yaml.Node{quoted("*")}
	}
	return list
}
