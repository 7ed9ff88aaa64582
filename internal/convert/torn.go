package convert

import (
	"regexp"
	"slices"
	"strings"
)

// tornTemplates returns the indexes of the documents in which the conversion lost a part of a condition or loop: a
// branch, its end, or one of the values that branches give to the same field.
func (c *converter) tornTemplates() map[int]bool {
	torn := map[int]bool{}
	for i, d := range c.docs {
		if !d.legacy || len(d.template.own) == 0 {
			continue
		}
		after, err := d.text()
		if err != nil {
			continue
		}
		before := d.template.show(strings.Join(d.template.raw, ""))
		if unpaired(before, after) || d.repeated != "" && assignments(d.repeated, after) < assignments(d.repeated, before) {
			torn[i] = true
		}
	}
	return torn
}

// branch matches statements that begin another branch of a condition.
var branch = regexp.MustCompile(`^(\{\{-?\s*else\b|\{%-?\s*el|%\{-?~?\s*else\b)`)

// unpaired compares the statements of two texts. It reports whether after lacks a part of a condition or loop of
// before, such as its end, but not all of it.
func unpaired(before, after string) bool {
	left, opened, branches, closed := statements(after), 0, 0, 0
	for _, s := range statements(before) {
		if i := slices.Index(left, s); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		switch {
		case closing.MatchString(s):
			closed++
		case opening.MatchString(s):
			opened++
		case branch.MatchString(s):
			branches++
		}
	}
	return opened != closed || branches > 0 && opened == 0
}

// assignments counts the lines of text that set a key.
func assignments(key, text string) int {
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "- \"'")
		if rest, ok := strings.CutPrefix(line, key); ok && strings.HasPrefix(strings.TrimLeft(rest, "\"'"), ":") {
			n++
		}
	}
	return n
}
