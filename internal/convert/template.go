package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// expression matches what template languages put into manifests: Helm and Go ({{ }}), Jinja ({% %}), Terraform (%{ } and
// ${ }) and envsubst (${ }).
var expression = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}|%\{.*?\}|\$\{(?:[^{}]|\{[^{}]*\})*\}`)

// control matches expressions that produce no text of their own.
var control = regexp.MustCompile(`^(\{\{-?\s*(if|else|end|with|range|define|template|block|/\*|\$\w+\s*:?=)|\{%|%\{)`)

// closing matches statements that end what another one began.
var closing = regexp.MustCompile(`^(\{\{-?\s*end\b|\{%-?\s*end|%\{-?~?\s*end)`)

// opening matches statements that another one ends.
var opening = regexp.MustCompile(`^(\{\{-?\s*(if|with|range|define|block)\b|\{%-?\s*(if|for|with|macro|block)\b|%\{-?~?\s*(if|for)\b)`)

// output matches Helm's way to write a value as YAML below its key.
var output = regexp.MustCompile(`^\{\{-?\s*toYaml\s+(\S+|\([^|]*\))\s*\|\s*n?indent\s+\d+\s*-?\}\}$`)

// expressions are the template expressions of all files of a conversion. Each is represented by a word that YAML reads as a plain
// scalar. Equal expressions have equal words in all documents, so values can be compared and moved between documents.
type expressions struct {
	prefix string // what words begin with; it is in no input
	list   []string
	number map[string]int // indexes in list
	// words match a word that stands for an expression, value one that is the whole value of a key, comment one
	// that has its line to itself.
	words, value, comment *regexp.Regexp
}

// newExpressions returns the table of a conversion of these texts, empty.
func newExpressions(texts ...string) *expressions {
	x := &expressions{prefix: "karptpl", number: map[string]int{}}
	for slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, x.prefix) }) {
		x.prefix += "q"
	}
	x.words = regexp.MustCompile(x.prefix + `(\d{4,})x`)
	x.value = regexp.MustCompile(`(?m)(: +)(` + x.prefix + `\d{4,}x)[ \t]*$`)
	x.comment = regexp.MustCompile(`(?m)^([ \t]*)#(` + x.prefix + `\d{4,}x)`)
	return x
}

// word returns the word of an expression.
func (x *expressions) word(expression string) string {
	i, ok := x.number[expression]
	if !ok {
		i = len(x.list)
		x.list, x.number[expression] = append(x.list, expression), i
	}
	return fmt.Sprintf("%s%04dx", x.prefix, i)
}

// of returns the expression of a word, the word itself if there is none.
func (x *expressions) of(word string) string {
	var i int
	if _, err := fmt.Sscanf(strings.TrimPrefix(word, x.prefix), "%d", &i); err != nil || i >= len(x.list) {
		return word
	}
	return x.list[i]
}

// show puts the expressions back into text.
func (x *expressions) show(text string) string {
	text = x.comment.ReplaceAllString(text, "$1$2")
	return x.words.ReplaceAllStringFunc(text, x.of)
}

// in reports whether text has an expression in it.
func (x *expressions) in(text string) bool { return strings.Contains(text, x.prefix) }

// showMoved is show for a document whose fields have moved: a value that was indented for its old place is written as JSON,
// which needs no indentation.
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

// A template is a document with its expressions hidden: they stand in its text as words or, where an expression has its line to
// itself, as comments.
type template struct {
	*expressions
	own    []string // the expressions of the document, in order
	hidden string   // the text without them
	// raw are its lines with words for all expressions, shown the same with lines that are nothing but expressions hidden.
	raw, shown []string
	// origin are the indexes in shown of the lines of hidden, which lacks those left out.
	origin []int
}

// hide replaces the expressions in text. Comments and statements on lines of their own are left out where omit is true for the
// line, counted from 0; nil omits none.
func (x *expressions) hide(source string, omit func(line int) bool) *template {
	t := &template{expressions: x}
	// Expressions over several lines become one word first; then lines can be looked at alone.
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
			continue // not a blank line, which would detach comments that follow
		}
		t.origin = append(t.origin, i)
		hidden.WriteString(line)
	}
	t.hidden = hidden.String()
	return t
}

// lines hides the lines that are nothing but expressions. Statements often stand further left than what they surround; they
// are put where it stands, so that the parser takes them for a part of it.
func (t *template) lines(all []string) []string {
	out := make([]string, 0, len(all))
	before := ""        // the last line that is not blank
	var blocks []string // what begins the first line inside each statement that is not closed yet
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

// says reports whether a line has something of YAML's own.
func (t *template) says(trimmed string) bool {
	return trimmed != "" && !strings.HasPrefix(trimmed, "#") && !t.alone(trimmed)
}

// indentAfter is what begins the first of the lines that says something.
func (t *template) indentAfter(lines []string) string {
	for _, line := range lines {
		if t.says(strings.TrimSpace(line)) {
			return indentOf(line)
		}
	}
	return ""
}

// indented moves a line to the right, if it does not stand there already.
func indented(line, indent string) string {
	if len(indentOf(line)) >= len(indent) {
		return line
	}
	return indent + strings.TrimLeft(line, " \t")
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// alone reports whether a line is nothing but expressions.
func (t *template) alone(trimmed string) bool {
	return trimmed != "" && strings.TrimSpace(t.words.ReplaceAllString(trimmed, "")) == ""
}

// line hides a line that is nothing but expressions: as a comment, or as the value of the key before it.
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
	return indent + "#" + trimmed + line[len(strings.TrimRight(line, "\r\n")):]
}

// replace returns text with was replaced by is in the expressions that it stands for, and whether there was one.
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

// settle ties statements to the field that they surround: one that ends a block goes behind the field before it, so that it
// moves along when the field does.
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

// endings splits a comment into the closing statements that it begins with, and the rest.
func (t *template) endings(comment string) (ends, rest string) {
	lines := strings.Split(comment, "\n")
	n := 0
	for n < len(lines) && closing.MatchString(strings.TrimSpace(t.show(lines[n]))) {
		n++
	}
	return strings.Join(lines[:n], "\n"), strings.Join(lines[n:], "\n")
}
