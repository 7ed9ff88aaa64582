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

// A document is one document of a file, with the state of its conversion.
type document struct {
	part
	file     string
	number   int        // from 1
	template *template  // never nil
	node     *yaml.Node // the document node; nil if the document is copied unchanged
	list     *yaml.Node // the items, if the document is a List
	legacy   bool       // one of its objects is converted
	unread   bool       // the document is legacy, but cannot be read
	repeated string     // a key that the document sets twice, such as in two branches of a template; may be empty
	json     bool
	objects  []*object
	// blocks are the blocks that may be copied from the input. keep has the lines of those that are copied.
	blocks []block
	keep   []span
}

// An object is one manifest in a document.
type object struct {
	doc   *document
	root  *yaml.Node // a mapping
	form  legacy.Form
	label string // kind and name in the input
	// tell has the fields because of which an object with apiVersion v1 is treated as older. It is empty if the
	// apiVersion is right.
	tell []string
	// made are objects that the conversion adds after this one.
	made []*object
	// lifted maps the name of a field that was moved to spec to the path of the mapping that had the field in the input.
	// Warnings use these paths.
	lifted map[string]string
}

// ours matches the apiVersion of an object of an old version of Karpenter in the text of a document. The text need
// not be valid YAML.
var ours = regexp.MustCompile(`(?m)^\s*(?:- )?["']?apiVersion["']?:\s*["']?([a-z.]*karpenter[a-z0-9.]*/v1(?:alpha|beta)[0-9]+)`)

// read returns one document. It parses the document only if its text contains karpenter. If the document cannot be
// parsed or is a part of a script, its node stays nil; if its text also matches ours, read adds a warning. script is
// true if an earlier document of the file has the first line of a script.
func (c *converter) read(file string, number int, p part, script bool) *document {
	d := &document{part: p, file: file, number: number, template: &template{expressions: c.expressions}}
	if !strings.Contains(p.body, "karpenter") {
		return d
	}
	d.keep = c.keep[len(c.docs)]
	d.template = c.expressions.hide(strings.TrimPrefix(p.body, "\ufeff"), d.keeps)
	trimmed := strings.TrimSpace(d.template.hidden)
	d.json = strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed))
	node, err := parse(d.template.hidden)
	if err == nil && len(d.template.own) == 0 && ours.MatchString(p.body) {
		if key := repeated(node); key != nil { // in a template, several branches may set the same key
			err = fmt.Errorf("not valid YAML: line %d: key %q is set twice", key.Line, key.Value)
		}
	}
	switch {
	case err == nil && !script:
	case ours.MatchString(p.body):
		c.unreadable(d, script, err)
		return d
	default:
		return d // not an object of Karpenter, so errors do not matter
	}
	if node == nil || len(node.Content) == 0 || node.Content[0].Kind != yaml.MappingNode {
		return d
	}
	if c.torn[len(c.docs)] {
		c.unreadable(d, false, errors.New("template whose branches set the same field, or end within a field that moves"))
		return d
	}
	if key := repeated(node); key != nil {
		d.repeated = key.Value
	}
	d.template.settle(node)
	spellNulls(node)
	d.node = node
	d.find(node.Content[0], nil, nil)
	if d.legacy && !d.json && len(d.template.own) > 0 {
		d.blocks = d.template.findBlocks(node)
	}
	return d
}

var (
	// heredoc matches the start of a here-document in shells and Terraform.
	heredoc = regexp.MustCompile(`<<[-~]?\s*["'\\]?[A-Z]+\b`)
	// scriptLine matches a line without indentation that does not occur in manifests: the first line of a script (#!), or the
	// start of a here-document.
	scriptLine = regexp.MustCompile(`(?m)^(#!|[^\s#].*` + heredoc.String() + `)`)
)

// unreadable adds a warning that a legacy document cannot be converted, with the reason and a fix.
func (c *converter) unreadable(d *document, script bool, err error) {
	text, fix := "part of a script or Terraform file, copied unchanged", "extract the manifest"
	switch {
	case script:
	case heredoc.MatchString(d.body):
		text, fix = fmt.Sprintf("%v, copied unchanged", err), "extract the manifest: this looks like a script or Terraform file"
	case len(d.template.own) > 0:
		text, fix = fmt.Sprintf("%v, copied unchanged", err), fmt.Sprintf("render it first, for example with helm template or envsubst: it contains"+
			" template expressions such as %s", strings.Join(strings.Fields(d.template.own[0]), " "))
	default:
		text, fix = fmt.Sprintf("%v, copied unchanged", err), "correct the syntax"
	}
	c.warn(&object{doc: d}, "", "%s; fix: %s", text, fix)
	c.warnings[len(c.warnings)-1].Invalid = true
	d.unread = true
}

// repeated returns the first key that a mapping sets twice, nil if there is none. One of the values would be lost.
func repeated(n *yaml.Node) *yaml.Node {
	first := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Value != "<<" {
			if first[child.Value] {
				return child
			}
			first[child.Value] = true
		}
		if key := repeated(child); key != nil {
			return key
		}
	}
	return nil
}

// parse reads one document with its comments. The library panics on a few malformed inputs. parse returns an error for
// them.
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

// find adds root to d or, if root is a list, the objects below it. apiVersion and kind are the values for a root that
// does not set them, nil if there are no such values.
func (d *document) find(root, apiVersion, kind *yaml.Node) {
	if kind != nil && root.Kind == yaml.MappingNode && get(root, "kind") == nil {
		root.Content = append([]*yaml.Node{text("apiVersion"), text(apiVersion.Value), text("kind"), text(kind.Value)}, root.Content...)
	}
	items := get(root, "items")
	if !strings.HasSuffix(scalar(get(root, "kind")), "List") || items == nil || items.Kind != yaml.SequenceNode {
		d.add(root)
		return
	}
	if d.list == nil {
		d.list = items
	}
	apiVersion, kind = d.typed(root)
	for _, item := range items.Content {
		d.find(item, apiVersion, kind)
	}
}

// typed returns the apiVersion and kind of the items of a legacy list such as a NodePoolList, because the items need
// not set them. It changes the list to kind List, because a legacy list cannot have converted items. If root is no list
// of a legacy kind, typed returns nil.
func (d *document) typed(root *yaml.Node) (apiVersion, kind *yaml.Node) {
	of := strings.TrimSuffix(scalar(get(root, "kind")), "List")
	version := scalar(get(root, "apiVersion"))
	if legacy.FormOf(version, of) == legacy.Foreign {
		return nil, nil
	}
	set(root, "apiVersion", text("v1"))
	set(root, "kind", text("List"))
	return text(version), text(of)
}

func (d *document) add(root *yaml.Node) {
	kind := scalar(get(root, "kind"))
	o := &object{doc: d, root: root, form: legacy.FormOf(scalar(get(root, "apiVersion")), kind)}
	if o.form == legacy.Foreign {
		o.form, o.tell = mislabelled(root)
	}
	o.label = d.template.show(strings.TrimSpace(kind + " " + scalar(at(root, "metadata", "name"))))
	d.objects = append(d.objects, o)
	d.legacy = d.legacy || o.form != legacy.Foreign
}

// text returns the converted document, or its text of the input if no object in it is converted.
func (d *document) text() (string, error) {
	if !d.legacy {
		return d.separator + d.body, nil
	}
	var b strings.Builder
	b.WriteString(d.separator)
	for i, tree := range d.trees() {
		if i > 0 {
			b.WriteString("---\n")
		}
		if len(d.keep) > 0 {
			tree = d.outlined(tree)
		}
		out, err := encode(tree, d.json)
		if err != nil {
			return "", fmt.Errorf("%s: document %d: %w", d.file, d.number, err)
		}
		b.WriteString(out)
	}
	return d.fill(d.template.showMoved(b.String()))
}

// trees returns the trees of the output: the document and, unless it is a List, each object that the conversion
// added. In a List, the added objects become items.
func (d *document) trees() []*yaml.Node {
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
	return trees
}

// encode writes a tree as YAML. If the tree was read from JSON, encode writes it in block style.
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

// unquote changes the style of a tree from JSON to YAML.
func unquote(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		unquote(c)
	}
}
