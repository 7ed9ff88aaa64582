package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// expression matches the expressions of template languages: {{ }} of Helm and Go, {% %} of Jinja, %{ } and ${ } of
// Terraform, and ${ } of envsubst.
var expression = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}|%\{.*?\}|\$\{(?:[^{}]|\{[^{}]*\})*\}`)

// control matches statements: expressions that usually produce no text of their own, such as conditions and loops.
var control = regexp.MustCompile(`^(\{\{-?\s*(if|else|end|with|range|define|template|block|/\*|\$\w+\s*:?=)|\{%|%\{)`)

// closing matches statements that end the block of another one, such as end.
var closing = regexp.MustCompile(`^(\{\{-?\s*end\b|\{%-?\s*end|%\{-?~?\s*end)`)

// opening matches statements that begin a block.
var opening = regexp.MustCompile(`^(\{\{-?\s*(if|with|range|define|block)\b|\{%-?\s*(if|for|with|macro|block)\b|%\{-?~?\s*(if|for)\b)`)

// output matches the expression in Helm that writes a value as YAML below its key.
var output = regexp.MustCompile(`^\{\{-?\s*toYaml\s+(\S+|\([^|]*\))\s*\|\s*n?indent\s+\d+\s*-?\}\}$`)

// expressions are the template expressions of all files of a conversion. Each is represented by a word that YAML
// reads as a plain scalar. Equal expressions have equal words in all documents, so values can be compared and moved
// between documents.
type expressions struct {
	prefix string // the prefix of words; it does not occur in the input
	list   []string
	number map[string]int // indexes in list
	// mark begins a comment that hides a line with only expressions. Like prefix, it does not occur in the input, so it
	// differs from comments of the input.
	mark string
	// words matches a word that represents an expression, value a word that is the whole value of a key.
	words, value *regexp.Regexp
}

// newExpressions returns an empty table, with a prefix that does not occur in the texts.
func newExpressions(texts ...string) *expressions {
	x := &expressions{prefix: "karptpl", number: map[string]int{}}
	for slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, x.prefix) }) {
		x.prefix += "q"
	}
	x.words = regexp.MustCompile(x.prefix + `(\d{4,})x`)
	x.value = regexp.MustCompile(`(?m)(: +)(` + x.prefix + `\d{4,}x)[ \t]*$`)
	x.mark = "#" + x.prefix + "line:"
	return x
}

// word returns the word that represents an expression. It adds a new expression to the table.
func (x *expressions) word(expression string) string {
	i, ok := x.number[expression]
	if !ok {
		i = len(x.list)
		x.list, x.number[expression] = append(x.list, expression), i
	}
	return fmt.Sprintf("%s%04dx", x.prefix, i)
}

// of returns the expression that a word represents, or the word itself if there is none.
func (x *expressions) of(word string) string {
	var i int
	if _, err := fmt.Sscanf(strings.TrimPrefix(word, x.prefix), "%d", &i); err != nil || i >= len(x.list) {
		return word
	}
	return x.list[i]
}

// show replaces the words in text by their expressions, and the comments that hide lines by these lines.
func (x *expressions) show(text string) string {
	return x.words.ReplaceAllStringFunc(strings.ReplaceAll(text, x.mark, ""), x.of)
}

// in reports whether text contains a word that represents an expression.
func (x *expressions) in(text string) bool { return strings.Contains(text, x.prefix) }

// showMoved is like show, for a document whose fields have moved. Expressions that write a value as indented YAML are
// changed to write JSON, which needs no indentation.
func (x *expressions) showMoved(text string) string {
	text = x.value.ReplaceAllStringFunc(text, func(match string) string {
		parts := x.value.FindStringSubmatch(match)
		if m := output.FindStringSubmatch(x.show(parts[2])); m != nil {
			return parts[1] + "{{ toJson " + m[1] + " }}"
		}
		return match
	})
	return x.show(text)
}

// A template is a document whose expressions are hidden from the parser: each is replaced by a word, and lines with
// only expressions become comments, except an expression that is the value of the key before it.
type template struct {
	*expressions
	own    []string // the expressions of the document, in order
	hidden string   // the text with hidden expressions
	// raw are the lines, with words for all expressions. shown are the same lines, with comments for those that have only
	// expressions. Both are nil if there are no expressions.
	raw, shown []string
	// origin has the index in shown of each line of hidden, which lacks the omitted lines.
	origin []int
}

// hide hides the expressions in source. Lines with only comments or statements are left out if omit is true for the
// line number, counted from 0; if omit is nil, all are kept.
func (x *expressions) hide(source string, omit func(line int) bool) *template {
	t := &template{expressions: x}
	// Expressions are replaced by words first, because they may have several lines, and the next steps handle single
	// lines.
	source = expression.ReplaceAllStringFunc(source, func(e string) string {
		t.own = append(t.own, e)
		return t.word(e)
	})
	t.hidden = source
	if len(t.own) == 0 {
		return t
	}
	t.raw = slices.Collect(strings.Lines(source))
	t.shown = t.lines(t.raw)
	var hidden strings.Builder
	for i, line := range t.shown {
		if omit != nil && omit(i) && strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue // no blank line instead, because it would separate the following comments from their field
		}
		t.origin = append(t.origin, i)
		hidden.WriteString(line)
	}
	t.hidden = hidden.String()
	return t
}

// lines hides the lines that have only expressions. Statements often have less indentation than the fields that they
// surround. They get the indentation of these fields, so that the parser attaches them to the right mapping.
func (t *template) lines(all []string) []string {
	out := make([]string, 0, len(all))
	before := ""        // the last non-blank line
	var blocks []string // indentation of the first line inside each open statement
	for i, line := range all {
		trimmed := strings.TrimSpace(line)
		statement := ""
		if t.alone(trimmed) {
			statement = t.show(trimmed)
		}
		switch {
		case statement == "":
		case closing.MatchString(statement) && len(blocks) > 0:
			line = indented(line, blocks[len(blocks)-1])
			blocks = blocks[:len(blocks)-1]
		case opening.MatchString(statement):
			blocks = append(blocks, t.indentAfter(all[i+1:]))
			line = indented(line, blocks[len(blocks)-1])
		}
		out = append(out, t.line(line, before))
		if t.says(trimmed) {
			before = line
		}
	}
	return out
}

// says reports whether a line has YAML content: it is not empty, a comment or only expressions.
func (t *template) says(trimmed string) bool {
	return trimmed != "" && !strings.HasPrefix(trimmed, "#") && !t.alone(trimmed)
}

// indentAfter returns the indentation of the first of the lines with YAML content.
func (t *template) indentAfter(lines []string) string {
	for _, line := range lines {
		if t.says(strings.TrimSpace(line)) {
			return indentOf(line)
		}
	}
	return ""
}

// indented returns a line with the given indentation if the line has less, or else unchanged.
func indented(line, indent string) string {
	if len(indentOf(line)) >= len(indent) {
		return line
	}
	return indent + strings.TrimLeft(line, " \t")
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// alone reports whether a line has only expressions.
func (t *template) alone(trimmed string) bool {
	return trimmed != "" && strings.TrimSpace(t.words.ReplaceAllString(trimmed, "")) == ""
}

// line hides a line that has only expressions by making it a comment. It returns other lines unchanged, also an
// expression that is the value of the key on the line before.
func (t *template) line(line, before string) string {
	trimmed := strings.TrimSpace(line)
	if !t.alone(trimmed) {
		return line
	}
	indent := indentOf(line)
	only := t.words.FindString(trimmed) == trimmed
	key := strings.TrimSpace(before)
	if only && !control.MatchString(t.show(trimmed)) && strings.HasSuffix(key, ":") &&
		len(indent) > len(before)-len(strings.TrimLeft(before, " ")) {
		return line
	}
	return indent + t.mark + trimmed + line[len(strings.TrimRight(line, "\r\n")):]
}

// replace replaces was by is in the expressions that the words in text represent, and returns text with the words of
// the changed expressions. done is true if there was an occurrence.
func (t *template) replace(text, was, is string) (out string, done bool) {
	out = t.words.ReplaceAllStringFunc(text, func(word string) string {
		e := t.of(word)
		if !strings.Contains(e, was) {
			return word
		}
		now := strings.ReplaceAll(e, was, is)
		if i := slices.Index(t.own, e); i >= 0 {
			t.own[i] = now
		}
		done = true
		return t.word(now)
	})
	return out, done
}

// settle attaches statements to the field that they surround: a statement that ends a block becomes a comment after the
// field before it. So it moves together with the field.
func (t *template) settle(n *yaml.Node) {
	for i, child := range n.Content {
		t.settle(child)
		before := i - 1
		if n.Kind == yaml.MappingNode {
			before = i - 2
		}
		if before < 0 || n.Kind == yaml.MappingNode && i%2 == 1 {
			continue
		}
		ends, rest := t.endings(child.HeadComment)
		if ends != "" {
			n.Content[before].FootComment = strings.TrimSpace(n.Content[before].FootComment + "\n" + ends)
			child.HeadComment = rest
		}
	}
}

// endings splits a comment into the closing statements at its start, and the rest.
func (t *template) endings(comment string) (ends, rest string) {
	lines := strings.Split(comment, "\n")
	n := 0
	for n < len(lines) && closing.MatchString(strings.TrimSpace(t.show(lines[n]))) {
		n++
	}
	return strings.Join(lines[:n], "\n"), strings.Join(lines[n:], "\n")
}
