package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A block is the value of a key in a template (a manifest with expressions of a template language such as Helm), if
// the value spans several lines and has statements such as {{ if }} between its lines. The parser sees these
// statements as comments, so the encoder may write them at another position. Therefore, if the conversion does not
// change the value, the block is copied from the input.
type block struct {
	value, was *yaml.Node // the node that the conversion may change, and a copy from before the conversion
	span                  // its lines; each statement that begins in them also ends in them
	indent     int        // columns before its first line with a field or item
}

// A span is a range of lines of a document, counted from 0, including both ends.
type span struct{ first, last int }

// kept maps the index of a document to the lines of its blocks that are copied from the input.
type kept map[int][]span

// keeps reports whether a line is in a block that is copied from the input.
func (d *document) keeps(line int) bool {
	return slices.ContainsFunc(d.keep, func(s span) bool { return s.first <= line && line <= s.last })
}

// findBlocks returns the blocks below n, outer ones before those inside them.
func (t *template) findBlocks(n *yaml.Node) []block {
	var out []block
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			if b, ok := t.block(n.Content[i-1], child); ok {
				out = append(out, b)
			}
		}
		out = append(out, t.findBlocks(child)...)
	}
	return out
}

// block returns the block of a key and its value. It returns false if the value has no statements or cannot be copied: it
// is a scalar, begins on the line of the key, is in flow style, or contains only a part of a statement's block.
func (t *template) block(key, value *yaml.Node) (block, bool) {
	if value.Kind != yaml.MappingNode && value.Kind != yaml.SequenceNode || value.Style&yaml.FlowStyle != 0 || value.Line <= key.Line ||
		key.Line > len(t.origin) {
		return block{}, false
	}
	b := block{value: value, was: clone(value), span: span{t.origin[key.Line-1] + 1, -1}, indent: -1}
	for i := b.first; i < len(t.raw); i++ {
		if t.aside(i) {
			continue
		}
		indent := len(indentOf(t.raw[i]))
		item := value.Kind == yaml.SequenceNode && strings.HasPrefix(strings.TrimSpace(t.raw[i]), "-")
		if indent < key.Column-1 || indent == key.Column-1 && !item {
			break
		}
		b.last = i
		if b.indent < 0 {
			b.indent = indent
		}
	}
	return b, b.indent >= 0 && t.balance(&b)
}

// aside reports whether a line of the document is blank, a comment, or a line of template expressions that is hidden
// from the parser as a comment.
func (t *template) aside(line int) bool {
	text := strings.TrimSpace(t.shown[line])
	return text == "" || strings.HasPrefix(text, "#")
}

// balance extends the block to the lines after it that end the statements begun in it. It returns false if no
// statement begins in the block, if one ends in it that began before it, or if other fields precede the end of one.
func (t *template) balance(b *block) bool {
	depth, statements := 0, 0
	for i := b.first; i < len(t.raw); i++ {
		if i > b.last && (depth == 0 || !t.aside(i)) {
			break
		}
		for _, word := range t.words.FindAllString(t.raw[i], -1) {
			switch e := t.of(word); {
			case closing.MatchString(e):
				depth--
			case opening.MatchString(e):
				depth++
				statements++
			}
			if depth < 0 {
				return false
			}
		}
		b.last = max(b.last, i)
	}
	return depth == 0 && statements > 0
}

// unchanged reports whether the conversion did not change the value, except for items appended to a sequence.
func (b *block) unchanged() bool {
	n := len(b.was.Content)
	if b.value.Kind != b.was.Kind || len(b.value.Content) < n || b.value.Kind == yaml.MappingNode && len(b.value.Content) > n {
		return false
	}
	for i := range n {
		if !same(b.value.Content[i], b.was.Content[i]) {
			return false
		}
	}
	return true
}

// same reports whether two trees are equal, ignoring comments.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && a.Style == b.Style && slices.EqualFunc(a.Content, b.Content, same)
}

// keepable returns those blocks of the converted documents that the conversion did not change, without blocks inside
// another returned one.
func (c *converter) keepable() kept {
	out := kept{}
	for i, d := range c.docs {
		end := -1
		for _, b := range d.blocks {
			if d.legacy && b.first > end && b.unchanged() {
				out[i] = append(out[i], b.span)
				end = b.last
			}
		}
	}
	return out
}

// dropWrong removes a document from k if its output, with the blocks copied, cannot be written or has other values
// than its trees. It reports whether it removed any.
func (c *converter) dropWrong(k kept) bool {
	before := len(k)
	for i := range k {
		d := c.docs[i]
		text, err := d.text()
		if err != nil || !d.legacy || !d.means(text) {
			delete(k, i)
		}
	}
	return len(k) < before
}

// means reports whether text, parsed, has the values of the document's trees, as compared by alike.
func (d *document) means(text string) bool {
	parts := split(text)
	trees := d.trees()
	if len(parts) != len(trees) {
		return false
	}
	for i, p := range parts {
		n, err := parse(d.template.hide(p.body, nil).hidden)
		if err != nil || len(n.Content) == 0 || !d.alike(n.Content[0], root(trees[i])) {
			return false
		}
	}
	return true
}

// root returns the content of a document node, and n itself if it is another node.
func root(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.DocumentNode {
		return n.Content[0]
	}
	return n
}

// alike reports whether two trees have the same values. A value with a template expression equals any other value
// with one.
func (d *document) alike(a, b *yaml.Node) bool {
	if a.Kind == yaml.ScalarNode && b.Kind == yaml.ScalarNode {
		return a.Value == b.Value || null(a) && null(b) || d.template.in(a.Value) && d.template.in(b.Value)
	}
	return a.Kind == b.Kind && slices.EqualFunc(a.Content, b.Content, d.alike)
}

// outlined returns a copy of a tree in which each block to copy is replaced by a placeholder word.
func (d *document) outlined(n *yaml.Node) *yaml.Node {
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		out.Content[i] = d.outlined(child)
		if n.Kind != yaml.MappingNode || i%2 == 0 {
			continue
		}
		j := slices.IndexFunc(d.blocks, func(b block) bool { return b.value == child && slices.Contains(d.keep, b.span) })
		if j < 0 {
			continue
		}
		b := d.blocks[j]
		// Comments inside the block are in its text already. Only those after the block are kept as the foot comment.
		key := out.Content[i-1]
		key.FootComment = strings.TrimSpace(strings.Join(append(ownLines(out.Content[i]), key.FootComment), "\n"))
		short := &yaml.Node{Kind: child.Kind, Tag: child.Tag, Content: []*yaml.Node{text(d.blockWord(j))}}
		if child.Kind == yaml.MappingNode {
			short.Content = append(short.Content, text("x"))
		} else {
			short.Content = append(short.Content, out.Content[i].Content[len(b.was.Content):]...)
		}
		out.Content[i] = short
	}
	return &out
}

// ownLines returns the comments of a tree that are on separate lines.
func ownLines(n *yaml.Node) []string {
	var out []string
	for _, comment := range []string{n.HeadComment, n.FootComment} {
		if comment != "" {
			out = append(out, comment)
		}
	}
	for _, child := range n.Content {
		out = append(out, ownLines(child)...)
	}
	return out
}

// blockWord returns the placeholder word of a block. It differs from the words that stand for template expressions.
func (d *document) blockWord(i int) string { return fmt.Sprintf("%sblock%04dx", d.template.prefix, i) }

// indents matches the part of a Helm expression that indents its result by a fixed number of columns, as in {{ toYaml
// .x | nindent 4 }}.
var indents = regexp.MustCompile(`\|\s*n?indent\b`)

// fill replaces the placeholder words in text by the blocks. If a block moves to another column, fill indents its
// lines accordingly, or returns an error if the block has expressions that match indents.
func (d *document) fill(text string) (string, error) {
	for i, b := range d.blocks {
		place := regexp.MustCompile(`(?m)^( *)(?:- ` + d.blockWord(i) + `|` + d.blockWord(i) + `: x)\n`)
		at := place.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		shift := at[3] - at[2] - b.indent
		lines := slices.Clone(d.template.raw[b.first : b.last+1])
		stood := d.template.show(strings.Join(lines, ""))
		if shift != 0 && indents.MatchString(stood) {
			return "", fmt.Errorf("line %d depends on its indentation", b.first+1)
		}
		for j, line := range lines {
			switch {
			case strings.TrimSpace(line) == "":
			case shift > 0:
				lines[j] = strings.Repeat(" ", shift) + line
			default:
				lines[j] = line[min(-shift, len(indentOf(line))):]
			}
		}
		moved := d.template.show(strings.Join(lines, ""))
		if !strings.HasSuffix(moved, "\n") {
			moved += "\n"
		}
		text = text[:at[0]] + moved + text[at[1]:]
	}
	return text, nil
}
