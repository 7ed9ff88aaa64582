package backtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// A Form is what the first line of a file says about its content.
type Form int

const (
	// Unrecognized is any content that is neither of the others, such as a JSON array or an empty file.
	Unrecognized Form = iota
	// TraceForm is the header of a CSV file with pods, or an event of an audit log.
	TraceForm
	// ManifestForm is the first line of an object of Kubernetes, in YAML or JSON.
	ManifestForm
)

// yamlStart matches the first line of a manifest in YAML: a comment, the start of a document, or a field.
var yamlStart = regexp.MustCompile(`^(#|---|[A-Za-z]+:(\s|$))`)

// Recognize returns the form of what r has, and a reader of the same text from its beginning. It reads the first line that is
// not empty, and at most a part of it if it is very long. The error is that of r.
func Recognize(r io.Reader) (Form, io.Reader, error) {
	var taken bytes.Buffer
	in := &lines{r: bufio.NewReader(io.TeeReader(r, &taken))}
	first, err := in.peek()
	var line []byte
	if err == nil && first != 0 {
		line, err = in.next()
	}
	all := io.MultiReader(&taken, r)
	if errors.Is(err, errLongLine) {
		return Unrecognized, all, nil
	}
	if err != nil {
		return Unrecognized, nil, fmt.Errorf("read the first line: %w", err)
	}
	return formOf(line), all, nil
}

func formOf(line []byte) Form {
	if bytes.HasPrefix(line, []byte("{")) {
		return formOfJSON(line)
	}
	if yamlStart.Match(line) {
		return ManifestForm
	}
	if names, err := fields(line); err == nil && knownColumns(names) >= 2 {
		return TraceForm
	}
	return Unrecognized
}

// formOfJSON returns the form of text whose first line begins with an object in JSON. An object that does not end in the line
// is a manifest, because each event of an audit log has a line of its own.
func formOfJSON(line []byte) Form {
	var e auditEvent
	if json.Unmarshal(line, &e) != nil {
		if string(line) == "{" {
			return ManifestForm
		}
		return Unrecognized
	}
	switch {
	case e.Kind == "Event" && e.Stage != "", e.Kind == "" && e.Message != "":
		return TraceForm
	case e.Kind != "":
		return ManifestForm
	}
	return Unrecognized
}

// knownColumns returns how many of the names are columns of a trace.
func knownColumns(names []string) int {
	n := 0
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if slices.ContainsFunc(columnNames[:], func(known []string) bool { return slices.Contains(known, name) }) {
			n++
		}
	}
	return n
}
