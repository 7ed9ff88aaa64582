package upstream

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed names.txt
var text string

// A Name is one line of a section of names.txt, such as a metric or a flag.
type Name struct {
	Name string
	// Columns are the columns after the name, as many as the section has; a column without text is empty.
	Columns []string
	// Note is "differs: how", "limited: how" or "absent: why", empty if the name is the same here.
	Note string
}

// Columns is the number of columns after the name, by section.
var Columns = map[string]int{
	"metrics": 3, "events": 2, "conditions": 1, "flags": 2, "gates": 1, "gates of AWS": 1, "chart": 1, "annotations": 1,
	"controllers": 0, "labels": 1, "taints": 1, "finalizers": 1, "dashboards": 1,
}

// Names returns the lines of each section of names.txt.
func Names() (map[string][]Name, error) {
	sections, section := map[string][]Name{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "== "); ok {
			section = title
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		width, known := Columns[section]
		if !known {
			return nil, fmt.Errorf("section %q is not known", section)
		}
		n, err := ParseName(line, width)
		if err != nil {
			return nil, err
		}
		sections[section] = append(sections[section], n)
	}
	return sections, nil
}

// ParseName reads one line with a name, columns, and perhaps a note. width is the number of columns of the section.
func ParseName(line string, width int) (Name, error) {
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	n := Name{Name: cells[0], Columns: cells[1:]}
	last := cells[len(cells)-1]
	if slices.ContainsFunc([]string{"absent: ", "differs: ", "limited: "}, func(kind string) bool { return strings.HasPrefix(last, kind) }) {
		n.Note, n.Columns = last, n.Columns[:len(n.Columns)-1]
	}
	if len(n.Columns) > width {
		return n, fmt.Errorf("%s: %d columns, want at most %d", n.Name, len(n.Columns), width)
	}
	for len(n.Columns) < width {
		n.Columns = append(n.Columns, "")
	}
	return n, nil
}

// FixedValues parses the last column of a metric in names.txt, such as "decision: approved rejected; policy: Balanced". It
// returns the possible values of each label that has a fixed list of them.
func FixedValues(column string) map[string][]string {
	values := map[string][]string{}
	for part := range strings.SplitSeq(column, ";") {
		if label, list, ok := strings.Cut(part, ":"); ok {
			words := strings.Fields(list)
			if i := slices.Index(words, `""`); i >= 0 {
				words[i] = ""
			}
			values[strings.TrimSpace(label)] = words
		}
	}
	return values
}
