package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A path is the path of a field within an object: names of fields (string) and indexes of items (int).
type path []any

// String returns p in the notation of Kubernetes: spec.containers[0].resources.requests[nvidia.com/gpu].
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch s := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(s) + "]")
		case string:
			switch {
			case strings.ContainsAny(s, "./[]"):
				b.WriteString("[" + s + "]")
			case b.Len() > 0:
				b.WriteString("." + s)
			default:
				b.WriteString(s)
			}
		}
	}
	return b.String()
}

// parsePath is the inverse of String.
func parsePath(s string) path {
	var p path
	for s != "" {
		if rest, ok := strings.CutPrefix(s, "["); ok {
			inside, after, _ := strings.Cut(rest, "]")
			if i, err := strconv.Atoi(inside); err == nil {
				p = append(p, i)
			} else {
				p = append(p, inside)
			}
			s = strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(s, ".[")
		if end < 0 {
			end = len(s)
		}
		p = append(p, s[:end])
		s = strings.TrimPrefix(s[end:], ".")
	}
	return p
}

// lineOf returns the line of the field, or of the innermost enclosing field that exists.
func (d *document) lineOf(p path) int {
	first := d.source.line(d.start)
	var root yaml.Node // JSON is YAML
	if err := yaml.Unmarshal(d.text, &root); err != nil || len(root.Content) == 0 {
		return first
	}
	at := root.Content[0]
	if d.item > 0 && d.yaml { // the text of a JSON item has only that item
		if at.Kind == yaml.MappingNode {
			at = child(at, "items", at)
		}
		at = child(at, d.item-1, at)
	}
	for _, step := range p {
		next := child(at, step, nil)
		if next == nil {
			break
		}
		at = next
	}
	return first + at.Line - 1
}

// child returns the field or item of n that step names, or missing if n does not have it.
func child(n *yaml.Node, step any, missing *yaml.Node) *yaml.Node {
	switch s := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && s >= 0 && s < len(n.Content) {
			return n.Content[s]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == s {
				return n.Content[i+1]
			}
		}
	}
	return missing
}
