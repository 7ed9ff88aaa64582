package convert

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// synonyms maps wrong names of node class fields, which occur in manifests written by hand, to the right ones.
var synonyms = [][2]string{
	{"amiId", "ami"}, {"imageId", "ami"},
	{"subnetIds", "subnets"}, {"securityGroupIds", "securityGroups"},
}

// spell renames the fields of a mapping that are synonyms, or differ from a known name only in capital letters. It
// does not rename a field if the mapping has the right name too.
func (c *converter) spell(o *object, path string, m *yaml.Node, known []string) {
	for i := 0; m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
		key := m.Content[i]
		now := ""
		for _, k := range known {
			if k == key.Value {
				now = ""
				break
			}
			if strings.EqualFold(k, key.Value) {
				now = k
			}
		}
		for _, s := range synonyms {
			if strings.EqualFold(s[0], key.Value) {
				now = s[1]
			}
		}
		if now == "" || get(m, now) != nil {
			continue
		}
		c.warn(o, path+"."+key.Value, "unknown field, interpreted as %s", now)
		key.Value, key.Style, key.Tag = now, 0, "!!str"
	}
}

// boolean converts a word for true or false to a boolean.
func (c *converter) boolean(o *object, field string, n *yaml.Node) {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag != "!!str" || o.doc.template.in(n.Value) {
		return
	}
	now := ""
	switch strings.ToLower(n.Value) {
	case "true", "yes", "on":
		now = "true"
	case "false", "no", "off":
		now = "false"
	default:
		return
	}
	c.warn(o, field, "%q converted to the boolean %s", n.Value, now)
	n.Value, n.Tag, n.Style = now, "!!bool", 0
}

// whole converts a text of digits to a number.
func (c *converter) whole(o *object, field string, n *yaml.Node) {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag != "!!str" || !digits.MatchString(n.Value) {
		return
	}
	c.warn(o, field, "%q converted to a number", n.Value)
	n.Tag, n.Style = "!!int", 0
}

// pairs converts a list of keys and values, the form of tags in other tools, to a mapping. It leaves a list that has
// other items as it is.
func (c *converter) pairs(o *object, field string, m *yaml.Node, key string) {
	list := get(m, key)
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	made := mapping()
	for _, item := range list.Content {
		name, value := get(item, "Key"), get(item, "Value")
		if name == nil {
			name, value = get(item, "key"), get(item, "value")
		}
		if name == nil || value == nil || len(item.Content) != 4 {
			return
		}
		put(made, name.Value, pair{clone(name), value})
	}
	c.warn(o, field, "list of keys and values converted to a mapping")
	set(m, key, made)
}
