package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// split splits a source into its documents, without decoding them.
func split(s *source) ([]*document, *Error) {
	s.data = bytes.TrimPrefix(UTF8(s.data), []byte("\xef\xbb\xbf"))
	if looksLikeJSON(s.data) || strings.HasSuffix(s.name, ".json") && hasContent(s.data) {
		return splitJSON(s)
	}
	return splitYAML(s), nil
}

// looksLikeJSON reports whether text begins with brackets followed by the start of a JSON value. YAML may begin with a
// bracket as well, but its keys are rarely quoted.
func looksLikeJSON(text []byte) bool {
	rest := bytes.TrimLeft(text, " \t\r\n")
	if len(rest) == 0 || rest[0] != '{' && rest[0] != '[' {
		return false
	}
	rest = bytes.TrimLeft(rest, "{[ \t\r\n")
	return len(rest) == 0 || rest[0] == '"' || rest[0] == '}' || rest[0] == ']'
}

// splitJSON splits a sequence of JSON values.
func splitJSON(s *source) ([]*document, *Error) {
	c := &cursor{data: s.data}
	var docs []*document
	for !c.end() {
		value, err := c.value()
		if err != nil {
			return nil, &Error{
				Place:   Place{File: s.name, Document: len(docs) + 1, Line: s.line(c.at)},
				Message: err.Error(),
			}
		}
		docs = append(docs, &document{source: s, number: len(docs) + 1, start: s.offset(value), text: value, json: value})
	}
	return docs, nil
}

// splitYAML splits text at lines of three dashes, which may have a comment after them. Documents without content are left
// out and not counted.
func splitYAML(s *source) []*document {
	var docs []*document
	start := 0
	add := func(end int) {
		if text := s.data[start:end]; hasContent(text) {
			docs = append(docs, &document{source: s, number: len(docs) + 1, start: start, text: text, yaml: true})
		}
	}
	for at := 0; at < len(s.data); {
		end := len(s.data)
		if i := bytes.IndexByte(s.data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if separates(s.data[at:end]) {
			add(at)
			start = end
		}
		at = end
	}
	add(len(s.data))
	return docs
}

func separates(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}

// hasContent reports whether text has anything besides white space and comments.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}

// toJSON converts a YAML document. A duplicate key is a mistake, as in kubectl.
func (d *document) toJSON() *Error {
	if !d.yaml {
		return nil
	}
	j, err := yaml.YAMLToJSONStrict(d.text)
	if err == nil {
		d.json = j
		return nil
	}
	e := &Error{Place: d.place(), Message: yamlMessage(err)}
	e.Place.Line = d.source.line(d.start)
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			e.Place.Line += n - 1
		}
	}
	if strings.HasPrefix(e.Message, noYAML+"did not find expected") {
		e.Place.Line++ // the YAML library counts these lines from zero
	}
	if bytes.Contains(d.text, []byte("{{")) || bytes.Contains(d.text, []byte("${")) {
		e.Message += " (looks like a template: render it first)"
	}
	return e
}

var (
	yamlLine  = regexp.MustCompile(`line (\d+)`)
	yamlNoise = regexp.MustCompile(`^(error converting YAML to JSON: )?(yaml: )?(unmarshal errors:\s*)?(line \d+: )?`)
)

// noYAML is the prefix of every message about text that is not YAML.
const noYAML = "not valid YAML: "

// yamlMessage returns the first line of the YAML library's error, without its prefixes and line number, after noYAML.
func yamlMessage(err error) string {
	first, _, _ := strings.Cut(yamlNoise.ReplaceAllString(err.Error(), ""), "\n")
	if first == "found character that cannot start any token" {
		first = "a tab or another character that cannot begin a value; indent with spaces"
	}
	return noYAML + first
}

// items returns d itself, its items if d is a list, or nothing if d is empty. An item without a kind gets the apiVersion of
// the list, and its kind without the suffix List. In a JSON array, such an item becomes a Pod of v1.
func (d *document) items() ([]*document, *Error) {
	c := &cursor{data: d.json}
	c.space()
	if c.end() || bytes.Equal(bytes.TrimSpace(d.json), []byte("null")) {
		return nil, nil
	}
	if d.json[c.at] == '[' {
		return d.list(d.json, "v1", "Pod")
	}
	if d.json[c.at] != '{' {
		return nil, d.fail(nil, "must be a Kubernetes object, but is "+jsonKind(d.json[c.at:]))
	}
	var items []byte
	err := eachField(d.json, func(key string, value []byte) bool {
		switch key {
		case "apiVersion":
			d.apiVersion = text(value)
		case "kind":
			d.kind = text(value)
		case "items":
			items = value
		}
		return d.apiVersion == "" || d.kind == "" || strings.HasSuffix(d.kind, "List") && items == nil
	})
	if err != nil {
		return nil, d.fail(nil, err.Error())
	}
	switch of, isList := strings.CutSuffix(d.kind, "List"); {
	case (isList || d.kind == "") && len(items) > 0 && items[0] == '[':
		return d.list(items, d.apiVersion, of)
	case isList:
		return nil, nil
	}
	return []*document{d}, nil
}

// list returns the items of a JSON array; apiVersion and kind are the defaults for items without them.
func (d *document) list(array []byte, apiVersion, kind string) ([]*document, *Error) {
	var out []*document
	err := eachItem(array, func(i int, item []byte) {
		one := &document{source: d.source, number: d.number, item: i + 1, start: d.start, text: d.text, yaml: d.yaml, json: item}
		if !d.yaml {
			one.text, one.start = item, d.source.offset(item)
		}
		_ = eachField(item, func(key string, value []byte) bool { // the decoder reports errors
			switch key {
			case "apiVersion":
				one.apiVersion = text(value)
			case "kind":
				one.kind = text(value)
			}
			return one.apiVersion == "" || one.kind == ""
		})
		if one.kind == "" {
			one.apiVersion, one.kind = apiVersion, kind
			one.json = named(item, apiVersion, kind)
		}
		out = append(out, one)
	})
	if err != nil {
		return nil, d.fail(nil, err.Error())
	}
	return out, nil
}

// named returns a JSON object with an apiVersion and a kind before its fields; anything else is returned as it is.
func named(item []byte, apiVersion, kind string) []byte {
	if len(item) == 0 || item[0] != '{' || kind == "" {
		return item
	}
	rest, comma := bytes.TrimLeft(item[1:], " \t\r\n"), ","
	if len(rest) > 0 && rest[0] == '}' {
		comma = ""
	}
	return append(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q%s`, apiVersion, kind, comma), rest...)
}

// text returns a JSON string without its quotes, with its escapes, or "" if value is not a string.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	return string(value[1 : len(value)-1])
}

// jsonKind names the kind of a JSON value.
func jsonKind(value []byte) string {
	switch {
	case len(value) == 0 || value[0] == 'n':
		return "null"
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "a list"
	case value[0] == '"':
		return "a string"
	case value[0] == 't' || value[0] == 'f':
		return "a boolean"
	}
	return "a number"
}
