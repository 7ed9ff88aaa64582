package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// A document is one document of a file.
type document struct {
	part
	file     string
	number   int // from 1
	template *template
	node     *yaml.Node // the document node; nil if it is passed on as it is
	list     *yaml.Node // the items, if the document is a List
	legacy   bool       // one of its objects is converted
	json     bool
	objects  []*object
}

// An object is one manifest in a document.
type object struct {
	doc   *document
	root  *yaml.Node // a mapping
	form  legacy.Form
	label string // kind and name in the input
	// tell are the fields by which an object that says v1 shows that it is older; none if it says what it is.
	tell []string
	// made are objects that the conversion adds after this one.
	made []*object
	// lifted says of fields of spec, by name, in which mapping they stood in the input (its path), for warnings while the
	// object is converted.
	lifted map[string]string
}

// ours matches the apiVersion of a legacy document, also where it cannot be parsed.
var ours = regexp.MustCompile(`(?m)^\s*(?:- )?["']?apiVersion["']?:\s*["']?([a-z.]*karpenter[a-z.]*/v1(?:alpha|beta)[0-9]+)`)

// read parses one document. Documents without anything of ours are kept as text.
func read(file string, number int, p part) (*document, error) {
	d := &document{part: p, file: file, number: number}
	if !strings.Contains(p.body, "karpenter") {
		return d, nil
	}
	hidden, t := hide(strings.TrimPrefix(p.body, "\ufeff"))
	d.template = t
	trimmed := strings.TrimSpace(hidden)
	d.json = strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed))
	node, err := parse(hidden)
	if err != nil {
		if found := ours.FindStringSubmatch(p.body); found == nil {
			return d, nil // not ours to judge
		}
		return nil, fmt.Errorf("%s: document %d: %w%s", file, number, err, d.hint())
	}
	if node == nil || len(node.Content) == 0 || node.Content[0].Kind != yaml.MappingNode {
		return d, nil
	}
	t.settle(node)
	spellNulls(node)
	d.node = node
	d.find(node.Content[0])
	return d, nil
}

// heredoc matches what shells and Terraform put before text of their own.
var heredoc = regexp.MustCompile(`<<[-~]?\s*["']?[A-Z]+\b`)

// hint returns what may be wrong with a document that cannot be parsed.
func (d *document) hint() string {
	if heredoc.MatchString(d.body) {
		return " (looks like a script or Terraform file: extract the manifest)"
	}
	if d.template == nil {
		return ""
	}
	return fmt.Sprintf(" (contains template expressions such as %s: render it first, for example with helm template or envsubst)",
		strings.Join(strings.Fields(d.template.expressions[0]), " "))
}

// parse reads one document with its comments. The library is known to panic on a few malformed inputs; that is an error here.
func parse(source string) (node *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, fmt.Errorf("not valid YAML: %v", r)
		}
	}()
	node = &yaml.Node{}
	if err := yaml.Unmarshal([]byte(source), node); err != nil {
		return nil, fmt.Errorf("not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return node, nil
}

// find notes the objects of a document.
func (d *document) find(root *yaml.Node) {
	items := get(root, "items")
	if !strings.HasSuffix(scalar(get(root, "kind")), "List") || items == nil || items.Kind != yaml.SequenceNode {
		d.add(root)
		return
	}
	d.list = items
	for _, item := range items.Content {
		if item.Kind == yaml.MappingNode {
			d.add(item)
		}
	}
}

func (d *document) add(root *yaml.Node) {
	kind := scalar(get(root, "kind"))
	o := &object{doc: d, root: root, form: legacy.FormOf(scalar(get(root, "apiVersion")), kind)}
	if o.form == legacy.Foreign {
		o.form, o.tell = mislabelled(root)
	}
	o.label = strings.TrimSpace(kind + " " + scalar(at(root, "metadata", "name")))
	if d.template != nil {
		o.label = d.template.show(o.label)
	}
	d.objects = append(d.objects, o)
	d.legacy = d.legacy || o.form != legacy.Foreign
}

// text returns the document as it goes out.
func (d *document) text() (string, error) {
	if !d.legacy {
		return d.separator + d.body, nil
	}
	trees := []*yaml.Node{d.node}
	if d.list != nil {
		d.list.Content = nil
		for _, o := range d.objects {
			d.list.Content = append(d.list.Content, o.root)
			for _, made := range o.made {
				d.list.Content = append(d.list.Content, made.root)
			}
		}
	} else {
		for _, made := range d.objects[0].made {
			trees = append(trees, made.root)
		}
	}
	var b strings.Builder
	b.WriteString(d.separator)
	for i, tree := range trees {
		if i > 0 {
			b.WriteString("---\n")
		}
		out, err := encode(tree, d.json)
		if err != nil {
			return "", fmt.Errorf("%s: document %d: %w", d.file, d.number, err)
		}
		b.WriteString(out)
	}
	return d.template.showMoved(b.String()), nil
}

// encode writes a tree as YAML in block style.
func encode(tree *yaml.Node, fromJSON bool) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("write YAML: %v", r)
		}
	}()
	if fromJSON {
		tree = clone(tree)
		unquote(tree)
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(tree), e.Close()); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return b.String(), nil
}

// unquote turns the style of JSON into that of YAML.
func unquote(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		unquote(c)
	}
}
