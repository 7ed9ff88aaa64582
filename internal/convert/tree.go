package convert

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// get returns the value of a key of a mapping, nil if there is none.
func get(m *yaml.Node, key string) *yaml.Node {
	if i := index(m, key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}

// at returns the value at a path of keys, nil if there is none.
func at(m *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if m = get(m, key); m == nil {
			return nil
		}
	}
	return m
}

// index returns the index of the key in the content of a mapping, -1 if the mapping does not have it.
func index(m *yaml.Node, key string) int {
	if m == nil || m.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key && m.Content[i].Kind == yaml.ScalarNode {
			return i
		}
	}
	return -1
}

// spellNulls sets the text of empty nulls in braces or brackets to null, because the library would write them as empty
// text.
func spellNulls(n *yaml.Node) {
	for _, child := range n.Content {
		if n.Style&yaml.FlowStyle != 0 && child.Kind == yaml.ScalarNode && child.Tag == "!!null" && child.Value == "" {
			child.Value = "null"
		}
		spellNulls(child)
	}
}

// A pair is a key with its value, removed from a mapping. The zero pair stands for a missing key.
type pair struct{ key, value *yaml.Node }

// ok reports whether the key exists and its value is not null.
func (p pair) ok() bool { return p.value != nil && !null(p.value) }

// take removes a key from a mapping and returns the pair.
func take(m *yaml.Node, key string) pair {
	i := index(m, key)
	if i < 0 {
		return pair{}
	}
	p := pair{m.Content[i], m.Content[i+1]}
	m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
	return p
}

// put adds a pair with the given name and the comments of its key at the end of a mapping. If the mapping has the
// name already, put only replaces the value. A pair without value changes nothing.
func put(m *yaml.Node, name string, p pair) {
	if p.value == nil {
		return
	}
	if p.key == nil {
		p.key = text(name)
	}
	p.key.Value, p.key.Style, p.key.Tag = name, 0, "!!str"
	if i := index(m, name); i >= 0 {
		m.Content[i+1] = p.value
		return
	}
	m.Content = append(m.Content, p.key, p.value)
}

// rename renames a key at the same position, and returns the pair, the zero pair if the key is missing. The new name
// must not exist.
func rename(m *yaml.Node, from, to string) pair {
	i := index(m, from)
	if i < 0 {
		return pair{}
	}
	m.Content[i].Value, m.Content[i].Style, m.Content[i].Tag = to, 0, "!!str"
	return pair{m.Content[i], m.Content[i+1]}
}

// set sets the value of a key, at the end of the mapping if the key is new.
func set(m *yaml.Node, key string, value *yaml.Node) { put(m, key, pair{value: value}) }

// child returns the mapping at a key. If there is no value or one that is no mapping, child sets an empty mapping.
func child(m *yaml.Node, key string) *yaml.Node {
	if v := get(m, key); v != nil && v.Kind == yaml.MappingNode {
		return v
	}
	made := mapping()
	set(m, key, made)
	return made
}

func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func quoted(value string) *yaml.Node {
	n := text(value)
	n.Style = yaml.DoubleQuotedStyle
	return n
}

func number(value int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(value)}
}

func mapping(keysAndValues ...any) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		value, ok := keysAndValues[i+1].(*yaml.Node)
		if !ok {
			value = text(fmt.Sprint(keysAndValues[i+1]))
		}
		set(m, keysAndValues[i].(string), value)
	}
	return m
}

func sequence(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

// null reports whether a node is missing, null, or an empty scalar without quotes and with a type other than string.
func null(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Value == "" && n.Style == 0 && n.Tag != "!!str")
}

// scalar returns the text of a scalar, "" for null and everything else.
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || null(n) {
		return ""
	}
	return n.Value
}

// isTrue reports whether a node is the boolean true, or a word for it.
func isTrue(n *yaml.Node) bool {
	return slices.Contains([]string{"true", "yes", "on", "y", "enabled"}, strings.ToLower(scalar(n)))
}

// brief returns a node on one line, for warnings. The text is complete, so that a warning shows everything that was
// removed.
func brief(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	flat := clone(n)
	plain(flat, yaml.FlowStyle)
	out, err := yaml.Marshal(flat)
	if err != nil {
		return n.Value
	}
	return strings.TrimSpace(string(out))
}

// plain removes the comments from a tree, sets the style of its mappings and sequences, and puts scalars of several
// lines in double quotes.
func plain(n *yaml.Node, style yaml.Style) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind != yaml.ScalarNode {
		n.Style = style
	} else if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.Contains(n.Value, "\n") {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		plain(c, style)
	}
}

// clone copies a tree.
func clone(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = clone(n.Content[i])
	}
	return &c
}

// equal reports whether two trees have equal values, ignoring style and the order of keys.
func equal(a, b *yaml.Node) bool {
	if a == nil || b == nil || a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return a == b
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return a.Value == b.Value
	case yaml.MappingNode:
		for i := 0; i+1 < len(a.Content); i += 2 {
			if !equal(a.Content[i+1], get(b, a.Content[i].Value)) {
				return false
			}
		}
		return true
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// maxNodes is the maximum size of a document after the expansion of aliases.
const maxNodes = 100_000

// expand replaces aliases and merge keys (<<) by copies of their targets, so that fields can be moved one by one.
func expand(n *yaml.Node, budget *int) error {
	if *budget--; *budget < 0 {
		return fmt.Errorf("YAML aliases expand to more than %d nodes", maxNodes)
	}
	for i, c := range n.Content {
		if c.Kind == yaml.AliasNode {
			c = clone(c.Alias)
			if *budget -= size(c); *budget < 0 {
				return fmt.Errorf("YAML aliases expand to more than %d nodes", maxNodes)
			}
			n.Content[i] = c
		}
		c.Anchor = ""
		if err := expand(c, budget); err != nil {
			return err
		}
	}
	if n.Kind == yaml.MappingNode {
		merge(n)
	}
	return nil
}

// size counts the nodes of a tree, an alias as one.
func size(n *yaml.Node) int {
	total := 1
	for _, c := range n.Content {
		total += size(c)
	}
	return total
}

// merge adds the pairs of merge keys to the mapping, except those whose key the mapping has itself.
func merge(m *yaml.Node) {
	for {
		i := index(m, "<<")
		if i < 0 || m.Content[i].Style != 0 {
			return
		}
		sources := []*yaml.Node{m.Content[i+1]}
		if sources[0].Kind == yaml.SequenceNode {
			sources = sources[0].Content
		}
		m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
		for _, source := range sources {
			for j := 0; source.Kind == yaml.MappingNode && j+1 < len(source.Content); j += 2 {
				if get(m, source.Content[j].Value) == nil {
					m.Content = append(m.Content, source.Content[j], source.Content[j+1])
				}
			}
		}
	}
}
