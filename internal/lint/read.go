package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "sigs.k8s.io/yaml"
)

// A File is a file with manifests to check.
type File struct {
	Name string
	Data []byte
}

// An object is one manifest and its position in a file.
type object struct {
	file    string
	node    *yaml.Node
	content *unstructured.Unstructured
}

func (o *object) label() string {
	return strings.TrimSpace(o.content.GetKind() + " " + o.content.GetName())
}

// read adds the objects of a file to l. It adds the items of a List as objects. A document that cannot be parsed gives
// a finding, and the other documents are read nevertheless.
func (l *linter) read(f File) {
	var bad []Finding
	for _, part := range documents(f.Data) {
		decoder := yaml.NewDecoder(bytes.NewReader(part.text))
		for {
			document := &yaml.Node{}
			err := decode(decoder, document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				bad = append(bad, Finding{Rule: "bad-yaml", File: f.Name, Line: part.line + lineOf(err), Message: "not valid YAML: " + reason(err),
					Fix: "correct the YAML; if the file is a template, render it first and lint the result"})
				break
			}
			if len(document.Content) > 0 {
				moveDown(document, part.line)
				l.add(f.Name, document.Content[0])
			}
		}
	}
	if len(bad) > 0 && answers(f.Data) {
		return // not manifests, but the output of a command
	}
	for _, finding := range bad {
		l.found(finding)
	}
}

// A part is the text of one document.
type part struct {
	text []byte
	line int // the number of lines before it
}

// documents cuts a stream at the lines that begin a document. So an error in one document does not hide the others.
func documents(stream []byte) []part {
	parts, at, line := []part{{}}, 0, 0
	for text := range bytes.Lines(stream) {
		rest, ok := bytes.CutPrefix(text, []byte("---"))
		if ok && (len(bytes.TrimSpace(rest)) == 0 || rest[0] == ' ' || rest[0] == '\t') {
			parts = append(parts, part{line: line})
		}
		last := &parts[len(parts)-1]
		at, line = at+len(text), line+1
		last.text = stream[at-len(text)-len(last.text) : at]
	}
	return parts
}

// moveDown increases the line numbers of all nodes of a tree.
func moveDown(n *yaml.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		moveDown(child, lines)
	}
}

// linePrefix matches the prefix of an error of the YAML library that has a line.
var linePrefix = regexp.MustCompile(`^line \d+: `)

// reason returns the text of an error of the YAML library, without its prefix and line.
func reason(err error) string {
	text := linePrefix.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "")
	if text == "found character that cannot start any token" {
		text = "a tab or another character that cannot begin a value; indent with spaces"
	}
	return text
}

// answers reports whether data is a sequence of JSON values without a manifest, such as the outputs of several AWS CLI
// commands.
func answers(data []byte) bool {
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var value struct{ Kind *string }
		if err := d.Decode(&value); err != nil {
			return errors.Is(err, io.EOF)
		}
		if value.Kind != nil {
			return false
		}
	}
}

// decode reads one document. The YAML library panics on a few malformed inputs; decode returns an error for them.
func decode(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the document cannot be parsed")
		}
	}()
	return d.Decode(into)
}

var inLine = regexp.MustCompile(`line (\d+)`)

// lineOf returns the line number in an error of the YAML library, or 1 if it has none.
func lineOf(err error) int {
	if m := inLine.FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// add adds an object, or the objects in a list, to l.
func (l *linter) add(file string, node *yaml.Node) { l.addOf(file, node, "", "") }

// addOf is like add. apiVersion and kind are set on objects that have no kind, as the items of a NodePoolList need not
// have one.
func (l *linter) addOf(file string, node *yaml.Node, apiVersion, kind string) {
	if node.Kind == yaml.SequenceNode {
		for _, item := range node.Content {
			l.addOf(file, item, apiVersion, kind)
		}
		return
	}
	text, err := yaml.Marshal(node)
	if err != nil {
		return
	}
	asJSON, err := k8syaml.YAMLToJSON(text)
	if err != nil {
		l.found(Finding{Rule: "bad-yaml", File: file, Line: max(1, node.Line), Message: "not valid YAML: " + reason(err), Fix: "correct the YAML"})
		return
	}
	var content map[string]any
	if json.Unmarshal(asJSON, &content) != nil {
		return
	}
	if content != nil && content["kind"] == nil && kind != "" {
		content["apiVersion"], content["kind"] = apiVersion, kind
		if asJSON, err = json.Marshal(content); err != nil {
			return
		}
	}
	if version, _ := content["apiVersion"].(string); content["kind"] == nil && !strings.Contains(version, "karpenter") {
		return // not a manifest, but a values file, for example
	}
	u := &unstructured.Unstructured{}
	if u.UnmarshalJSON(asJSON) != nil && !strings.HasSuffix(u.GetKind(), "List") {
		u.Object = content
	}
	if items := child(node, "items"); strings.HasSuffix(u.GetKind(), "List") && items != nil {
		of := strings.TrimSuffix(u.GetKind(), "List")
		l.addOf(file, items, u.GetAPIVersion(), of)
		return
	}
	o := &object{file: file, node: node, content: u}
	l.repeated(o, node, "")
	l.objects = append(l.objects, o)
}

// repeated finds keys that are set twice, anywhere in an object: the last one applies, and kubectl rejects the object.
func (l *linter) repeated(o *object, n *yaml.Node, path string) {
	first := map[string]int{}
	for i, child := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if n.Kind == yaml.MappingNode {
			key := n.Content[i&^1]
			at = strings.TrimPrefix(path+"."+key.Value, ".")
			if i%2 == 0 {
				if line, again := first[key.Value]; again && key.Value != "<<" {
					l.found(Finding{Rule: "duplicate-key", File: o.file, Line: key.Line, Object: o.label(), Field: at,
						Message: fmt.Sprintf("the key is set in line %d already", line), Fix: "remove one of the two, or merge them"})
				}
				first[key.Value] = key.Line
				continue
			}
		}
		l.repeated(o, child, at)
	}
}

// child returns the value of a key, nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// line returns the line of a field, or of the innermost enclosing field that exists. Keys may contain dots.
func (o *object) line(field string) int {
	n, at := o.node, o.node.Line
	for field != "" {
		next, rest, line := descend(n, field)
		if next == nil {
			break
		}
		n, field, at = next, strings.TrimPrefix(rest, "."), line
	}
	return max(1, at)
}

// descend follows the first step of a path. It returns the node there, the rest of the path, and the line; next is nil if n
// does not have the step. If the path begins with several keys of the object, because keys may contain dots, it takes the
// longest.
func descend(n *yaml.Node, path string) (next *yaml.Node, rest string, line int) {
	if n.Kind == yaml.SequenceNode {
		inside, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(inside)
		if !ok || err != nil || i < 0 || i >= len(n.Content) {
			return nil, "", 0
		}
		return n.Content[i], rest, n.Content[i].Line
	}
	longest := -1
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		after, ok := strings.CutPrefix(path, n.Content[i].Value)
		if ok && len(n.Content[i].Value) > longest && (after == "" || after[0] == '.' || after[0] == '[') {
			longest = len(n.Content[i].Value)
			next, rest, line = n.Content[i+1], after, n.Content[i].Line
		}
	}
	return next, rest, line
}

// value returns the text of a field.
func (o *object) value(field string) (string, bool) {
	n := o.node
	for field != "" {
		next, rest, _ := descend(n, field)
		if next == nil {
			return "", false
		}
		n, field = next, strings.TrimPrefix(rest, ".")
	}
	return n.Value, n.Kind == yaml.ScalarNode
}
