package convert

import "strings"

// A part is one document of a stream as text: the separator before it, with its line break, and the body.
type part struct{ separator, body string }

// split splits a stream at its document separators. The concatenation of all separators and bodies is the stream,
// except that a tab between a separator and content on its line becomes a space.
func split(stream string) []part {
	var parts []part
	current := part{}
	started := false
	for line := range strings.Lines(stream) {
		if !separates(line) {
			current.body += line
			started = true
			continue
		}
		if started {
			parts = append(parts, current)
		}
		current = part{separator: line}
		if rest := strings.TrimSpace(line[3:]); rest != "" && !strings.HasPrefix(rest, "#") {
			current = part{separator: "--- ", body: line[4:]} // the content begins on the line of the separator
		}
		started = true
	}
	if started {
		parts = append(parts, current)
	}
	return parts
}

// separates reports whether a line is a document separator.
func separates(line string) bool {
	rest, ok := strings.CutPrefix(line, "---")
	return ok && (strings.TrimRight(rest, "\r\n") == "" || rest[0] == ' ' || rest[0] == '\t')
}
