package convert

import (
	"fmt"
	"regexp"
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

// output matches Helm's way to write a value as YAML below its key.
var output = regexp.MustCompile(`^\{\{-?\s*toYaml\s+(\S+|\([^|]*\))\s*\|\s*n?indent\s+\d+\s*-?\}\}$`)

// A template is the expressions of a document, which stand in its text as words that YAML takes for plain scalars or, where
// an expression has its line to itself, as comments.
type template struct {
	prefix      string
	expressions []string
	hidden      string // the text without them
	// words match a word that stands for an expression, value one that is the whole value of a key, comment one
	// that has its line to itself.
	words, value, comment *regexp.Regexp
}

// hide replaces the expressions in text.
func hide(source string) (string, *template) {
	if !expression.MatchString(source) {
		return source, nil
	}
	t := &template{prefix: "karptpl"}
	for strings.Contains(source, t.prefix) {
		t.prefix += "q"
	}
	t.words = regexp.MustCompile(t.prefix + `(\d{4,})x`)
	t.value = regexp.MustCompile(`(?m)(: +)(` + t.prefix + `\d{4,}x)[ \t]*$`)
	t.comment = regexp.MustCompile(`(?m)^([ \t]*)#(` + t.prefix + `\d{4,}x)`)
	// Expressions over several lines become one word first; then lines can be looked at alone.
	source = expression.ReplaceAllStringFunc(source, func(e string) string {
		t.expressions = append(t.expressions, e)
		return t.word(len(t.expressions) - 1)
	})
	var b strings.Builder
	before := "" // the last line that says something
	for line := range strings.Lines(source) {
		b.WriteString(t.line(line, before))
		if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") && !t.alone(trimmed) {
			before = line
		}
	}
	t.hidden = b.String()
	return t.hidden, t
}

func (t *template) word(i int) string { return fmt.Sprintf("%s%04dx", t.prefix, i) }

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
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	only := t.words.FindString(trimmed) == trimmed
	key := strings.TrimSpace(before)
	if only && !control.MatchString(t.show(trimmed)) && strings.HasSuffix(key, ":") &&
		len(indent) > len(before)-len(strings.TrimLeft(before, " ")) {
		return line
	}
	return indent + "#" + trimmed + line[len(strings.TrimRight(line, "\r\n")):]
}

// show puts the expressions back into text.
func (t *template) show(text string) string {
	if t == nil {
		return text
	}
	text = t.comment.ReplaceAllString(text, "$1$2")
	return t.words.ReplaceAllStringFunc(text, func(word string) string {
		var i int
		if _, err := fmt.Sscanf(strings.TrimPrefix(word, t.prefix), "%d", &i); err != nil || i >= len(t.expressions) {
			return word
		}
		return t.expressions[i]
	})
}

// showMoved is show for a document whose fields have moved: a value that was indented for its old place is written as JSON,
// which needs no indentation.
func (t *template) showMoved(text string) string {
	if t == nil {
		return text
	}
	text = t.value.ReplaceAllStringFunc(text, func(match string) string {
		parts := t.value.FindStringSubmatch(match)
		if m := output.FindStringSubmatch(t.show(parts[2])); m != nil {
			return parts[1] + "{{ toJson " + m[1] + " }}"
		}
		return match
	})
	return t.show(text)
}

// in reports whether text has an expression in it.
func (t *template) in(text string) bool { return t != nil && strings.Contains(text, t.prefix) }

// settle ties statements to the field that they surround: one that ends a block goes behind the field before it, so that it
// moves along when the field does.
func (t *template) settle(n *yaml.Node) {
	if t == nil {
		return
	}
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
