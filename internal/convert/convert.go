package convert

import (
	"fmt"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-go/karpenter/api/admission"
)

// A File is a stream of one or more manifests in YAML or JSON.
type File struct {
	// Name is the file's name in warnings.
	Name string
	Data []byte
}

// Options are facts that manifests do not contain, and switches. The zero value means the defaults.
type Options struct {
	// Role is the name of the IAM role for node classes that have neither role nor instance profile. Default:
	// KarpenterNodeRole- followed by the cluster's name.
	Role string
	// Cluster is the cluster's name, for missing fields that depend on it. Default: the value of the first tag
	// karpenter.sh/discovery in the manifests, or the placeholder CLUSTER_NAME.
	Cluster string
	// IgnoreDefaults omits the requirements that Provisioners had by default.
	IgnoreDefaults bool
	// Unchecked skips the validation of the output, for callers that validate it themselves, because compiling the
	// schemas takes a few tenths of a second.
	Unchecked bool
}

// schemas are compiled once, when first needed.
var schemas = sync.OnceValues(admission.New)

// A Warning is about a value that was changed, added or removed without an equivalent, or about a change that the
// user may have to make; then Text ends with "fix:" and the change.
type Warning struct {
	File     string
	Document int    // number of the document in the file, from 1
	Object   string // kind and name as in the input, such as "Provisioner default"; may be empty
	Field    string // path of the field in the input or output, or "line" and a number; may be empty
	Text     string
	// Invalid is true if the API server or the controller rejects the output because of this field, or if a document of an
	// old version could not be read.
	Invalid bool
}

// Invalid returns the number of warnings with Invalid set.
func (r Result) Invalid() int {
	n := 0
	for _, w := range r.Warnings {
		if w.Invalid {
			n++
		}
	}
	return n
}

// String returns the warning on one line.
func (w Warning) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: document %d", w.File, w.Document)
	if w.Object != "" {
		fmt.Fprintf(&b, " (%s)", w.Object)
	}
	if w.Field != "" {
		fmt.Fprintf(&b, ": %s", w.Field)
	}
	return b.String() + ": " + w.Text
}

// A Result has the converted files, in the order of the input.
type Result struct {
	Files    []File
	Warnings []Warning
	// Converted is the number of documents that were converted.
	Converted int
}

// Text returns all files as one stream of documents.
func (r Result) Text() []byte {
	var b strings.Builder
	for _, f := range r.Files {
		text := string(f.Data)
		if b.Len() > 0 && strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "---") {
			b.WriteString("---\n")
		}
		b.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
	}
	return []byte(b.String())
}

// converter is the state of one conversion.
type converter struct {
	options Options
	docs    []*document
	// expressions has the template expressions of all files.
	expressions *expressions
	// keep has the blocks that are copied from the input. torn has the indexes of documents that are copied unchanged because
	// the conversion would break their templates.
	keep     kept
	torn     map[int]bool
	warnings []Warning
	// pools and classes are the NodePools and EC2NodeClasses that the conversion converts or creates.
	pools   []*pool
	classes []*class
	cluster string
}

// Convert converts files to v1. It converts all of them together, because a NodePool and its node class may be in
// different files. A document of an old version that cannot be read, or whose template the conversion would break, is
// copied unchanged, with a Warning that has Invalid set. Convert returns an error if the output cannot be written or
// the schemas for its validation cannot be compiled.
func Convert(files []File, o Options) (Result, error) {
	c, err := settle(files, o, nil)
	if torn := c.tornTemplates(); err == nil && len(torn) > 0 {
		c, err = settle(files, o, torn)
	}
	if err != nil {
		return Result{}, err
	}
	return c.result(files)
}

// settle converts files. Blocks of templates that the conversion does not change are copied from the input. The
// documents in torn are copied unchanged.
func settle(files []File, o Options, torn map[int]bool) (*converter, error) {
	c, err := run(files, o, nil, torn)
	// The first run shows which blocks of templates do not change. The next run copies these blocks from the input.
	for keep := c.keepable(); err == nil && len(keep) > 0; {
		c, err = run(files, o, keep, torn)
		if err != nil || !c.dropWrong(keep) {
			break
		}
		if len(keep) == 0 {
			c, err = run(files, o, nil, torn)
		}
	}
	return c, err
}

// run converts files. It copies the blocks in keep from the input, and the documents in torn unchanged.
func run(files []File, o Options, keep kept, torn map[int]bool) (*converter, error) {
	texts := []string{o.Role, o.Cluster}
	for _, f := range files {
		texts = append(texts, string(f.Data))
	}
	c := &converter{options: o, expressions: newExpressions(texts...), keep: keep, torn: torn}
	for _, f := range files {
		c.readFile(f)
	}
	c.cluster = c.clusterName()
	for _, d := range c.docs {
		c.convert(d)
	}
	c.link()
	c.lostExpressions()
	if !o.Unchecked {
		if err := c.check(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// result returns the converted files, and the warnings in the order of the documents.
func (c *converter) result(files []File) (Result, error) {
	r := Result{}
	for _, f := range files {
		text, err := c.text(f.Name)
		if err != nil {
			return Result{}, err
		}
		r.Files = append(r.Files, File{Name: f.Name, Data: text})
	}
	for _, d := range c.docs {
		if d.legacy {
			r.Converted++
		}
	}
	r.Warnings = c.ordered()
	return r, nil
}

// readFile reads the documents of a file. If a document has the first line of a script, all later documents of the
// file are read as parts of the script.
func (c *converter) readFile(f File) {
	script := false
	for i, part := range split(string(f.Data)) {
		d := c.read(f.Name, i+1, part, script)
		script = script || d.node == nil && scriptLine.MatchString(part.body)
		c.docs = append(c.docs, d)
	}
}

// Document converts the documents of one stream, for callers without files. name is the name of the stream in warnings.
func Document(name string, data []byte, o Options) ([]byte, []Warning, error) {
	r, err := Convert([]File{{name, data}}, o)
	if err != nil {
		return nil, nil, err
	}
	return r.Files[0].Data, r.Warnings, nil
}

// text returns the converted documents of a file.
func (c *converter) text(file string) ([]byte, error) {
	var b strings.Builder
	for _, d := range c.docs {
		if d.file != file {
			continue
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		text, err := d.text()
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return []byte(b.String()), nil
}

// ordered returns the warnings by file and document, each once.
func (c *converter) ordered() []Warning {
	var list []Warning
	seen := map[Warning]bool{}
	for _, d := range c.docs {
		for _, w := range c.warnings {
			if w.File == d.file && w.Document == d.number && !seen[w] {
				seen[w] = true
				list = append(list, w)
			}
		}
	}
	return list
}

// clusterName returns the cluster's name for fields that the manifests lack, as Options.Cluster describes.
func (c *converter) clusterName() string {
	if c.options.Cluster != "" {
		return c.options.Cluster
	}
	for _, d := range c.docs {
		for _, o := range d.objects {
			if name := discovery(o.root); name != "" {
				return name
			}
		}
	}
	return "CLUSTER_NAME"
}

// discovery returns the value of the first discovery tag in a tree, "" if there is none. The value * is not a
// cluster's name and is skipped.
func discovery(n *yaml.Node) string {
	if v := get(n, "karpenter.sh/discovery"); v != nil && v.Kind == yaml.ScalarNode && v.Value != "*" {
		return v.Value
	}
	for _, child := range n.Content {
		if name := discovery(child); name != "" {
			return name
		}
	}
	return ""
}
