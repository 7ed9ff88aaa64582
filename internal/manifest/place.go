package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// A Place says where an object was written.
type Place struct {
	// File is a path, or "stdin".
	File string
	// Document counts the documents of the file that are not empty, from 1.
	Document int
	// Item counts the items of a list, from 1; zero for a document that is no list.
	Item int
	// Line is where the object, or the field in question, is in the file, from 1; zero if that is not known.
	Line int
}

// String names the place for people: file.yaml: document 2, item 3, line 40.
func (p Place) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	sep := ": "
	for _, part := range []struct {
		name string
		n    int
	}{{"document", p.Document}, {"item", p.Item}, {"line", p.Line}} {
		if part.n > 0 {
			fmt.Fprintf(&b, "%s%s %d", sep, part.name, part.n)
			sep = ", "
		}
	}
	return b.String()
}

// An Error is one mistake in the input.
type Error struct {
	Place Place
	// Object is kind and name, as far as they are known.
	Object string
	// Field is the path of the field, empty if the mistake is not in one.
	Field string
	// Message says what is wrong, and where it helps what to write instead.
	Message string

	// document and path locate the mistake until object and line are computed from them.
	document *document
	path     path
}

// Error renders the mistake in one line.
func (e *Error) Error() string {
	parts := []string{e.Place.String()}
	for _, s := range []string{e.Object, e.Field, e.Message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// maxErrors is how many mistakes are printed.
const maxErrors = 20

// Errors are all mistakes of an input, in its order.
type Errors []*Error

// Error renders a mistake a line.
func (e Errors) Error() string {
	lines := make([]string, 0, min(len(e), maxErrors)+1)
	for _, one := range e[:min(len(e), maxErrors)] {
		lines = append(lines, one.Error())
	}
	if more := len(e) - maxErrors; more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// A source is one file.
type source struct {
	name string
	data []byte
	// found is set for files that a directory brought in: what is no manifest there is skipped, not refused.
	found bool
}

// offset returns where part, which was sliced out of s.data, begins in it. Slicing leaves the end of the capacity where it is.
func (s *source) offset(part []byte) int { return cap(s.data) - cap(part) }

// line returns the line of a byte, from 1.
func (s *source) line(offset int) int {
	return 1 + bytes.Count(s.data[:min(offset, len(s.data))], []byte("\n"))
}

// A document is one object on its way: where it was written, and its JSON.
type document struct {
	source *source
	// number and item are those of Place.
	number, item int
	// start is where the text begins in the source.
	start int
	// text is the whole document as written, with all items of its list; shared by them.
	text []byte
	// yaml says that text is not JSON.
	yaml bool
	// json is the object alone.
	json []byte

	apiVersion, kind string
}

// place returns where the document is, without the line: counting lines takes time, and is worth it for a mistake only.
func (d *document) place() Place { return Place{File: d.source.name, Document: d.number, Item: d.item} }

// fail returns a mistake in the field at path.
func (d *document) fail(path path, message string) *Error {
	p := d.place()
	p.Line = d.lineOf(path)
	return &Error{Place: p, Object: d.title(), Field: path.String(), Message: message}
}

// title names the object by kind and name, as far as they can be read.
func (d *document) title() string {
	name := ""
	_ = eachField(d.json, func(key string, value []byte) bool { // what cannot be read has no name
		if key != "metadata" {
			return true
		}
		_ = eachField(value, func(key string, value []byte) bool {
			if key == "name" || key == "generateName" && name == "" {
				name = strings.Trim(string(value), `"`)
			}
			return true
		})
		return false
	})
	return strings.TrimSpace(cmp.Or(d.kind, "object") + " " + name)
}
