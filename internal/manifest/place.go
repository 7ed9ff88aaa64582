package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// A Place is the position of an object in the input.
type Place struct {
	// File is a path, or "stdin".
	File string
	// Document is the number of the document in its file, from 1, without empty documents.
	Document int
	// Item is the number of the item in its list, from 1; zero for a document that is not a list.
	Item int
	// Line is the line of the object, or of the field with an error, from 1; zero if it is not known.
	Line int
}

// String returns the place as text: file.yaml: document 2, item 3, line 40.
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
	// Object is the kind and name, as far as they are known.
	Object string
	// Field is the path of the field, empty if the mistake is not in a single field.
	Field string
	// Message describes the mistake, and for some mistakes the fix.
	Message string

	// document and path locate the mistake. Object and Place.Line are computed from them only if the error is printed.
	document *document
	path     path
}

// Error returns the mistake in one line.
func (e *Error) Error() string {
	parts := []string{e.Place.String()}
	for _, s := range []string{e.Object, e.Field, e.Message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// maxErrors is the maximum number of mistakes that are printed.
const maxErrors = 20

// Errors are all mistakes of an input, in its order.
type Errors []*Error

// Error returns one line for each of the first maxErrors mistakes, and a line with the number of the others.
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
	// found is true for files that were found in a given directory. Documents in them that are not manifests are
	// skipped; in files given by name they are errors.
	found bool
}

// offset returns the offset of part, a slice of s.data. It is the difference of the capacities, since the capacity of
// both slices ends at the same byte.
func (s *source) offset(part []byte) int { return cap(s.data) - cap(part) }

// line returns the line number of the byte at offset, from 1.
func (s *source) line(offset int) int {
	return 1 + bytes.Count(s.data[:min(offset, len(s.data))], []byte("\n"))
}

// A document is one object before it is decoded: its position in the input, and its JSON. Before expand it may be a list.
type document struct {
	source *source
	// number and item are those of Place.
	number, item int
	// start is the offset of text in the source.
	start int
	// text is the whole document as written. For an item of a YAML list it has all items of the list.
	text []byte
	// yaml is true if text is not JSON.
	yaml bool
	// json is the object alone.
	json []byte

	apiVersion, kind string
}

// place returns the position of the document, without the line. Lines are only counted for mistakes, because counting
// takes time.
func (d *document) place() Place { return Place{File: d.source.name, Document: d.number, Item: d.item} }

// fail returns a mistake in the field at path.
func (d *document) fail(path path, message string) *Error {
	p := d.place()
	p.Line = d.lineOf(path)
	return &Error{Place: p, Object: d.title(), Field: path.String(), Message: message}
}

// title returns the kind and name of the object, as far as they can be decoded.
func (d *document) title() string {
	name := ""
	_ = eachField(d.json, func(key string, value []byte) bool { // the name stays empty on an error
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
