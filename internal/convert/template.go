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
	t.hidden = t.lines(slices.Collect(strings.Lines(source)))
	return t.hidden, t
}

// lines hides the lines that are nothing but expressions. Statements often stand further left than what they surround; they
// are put where it stands, so that the parser takes them for a part of it.
func (t *template) lines(all []string) string {
	var b strings.Builder
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
		b.WriteString(t.line(line, before))
		if t.says(trimmed) {
			before = line
		}
	}
	return b.String()
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
	indent := indentOf(line)
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

// replace puts a word in the place of another in the expressions that text stands for. It reports whether there was one.
func (t *template) replace(text, was, is string) (done bool) {
	for _, word := range t.words.FindAllStringSubmatch(text, -1) {
		var i int
		if _, err := fmt.Sscanf(word[1], "%d", &i); err != nil || i >= len(t.expressions) || !strings.Contains(t.expressions[i], was) {
			continue
		}
		t.expressions[i], done = strings.ReplaceAll(t.expressions[i], was, is), true
	}
	return done
}

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
