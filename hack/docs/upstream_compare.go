package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/hack/upstream"
)

// difference returns how the name in this project differs from upstream, empty if it does not differ. absent is true
// if this project does not have the name.
func (h here) difference(section string, n upstream.Name) (text string, absent bool) {
	have, there := h[section][n.Name]
	if !there {
		return "it is not in the code", true
	}
	switch section {
	case "metrics":
		return differs(have, []string{n.Columns[0], sortedWords(n.Columns[1])}, "type", "labels"), false
	case "events":
		if n.Columns[0] != "-" && n.Columns[0] != have[0] {
			return "the type is " + have[0], false
		}
		for _, kind := range strings.Fields(n.Columns[1]) {
			if kind != "-" && !slices.Contains(strings.Fields(have[1]), kind) {
				return "it is not published on the kind " + kind, false
			}
		}
	case "flags":
		want := []string{n.Columns[0], plainDuration(n.Columns[1])}
		return differs([]string{have[0], plainDuration(have[1])}, want, "variable", "default"), false
	case "gates", "gates of AWS", "chart":
		return differs([]string{plainDuration(have[0])}, []string{plainDuration(n.Columns[0])}, "default"), false
	}
	return "", false
}

// differs compares columns and returns a text about the first difference, empty if there is none.
func differs(have, want []string, titles ...string) string {
	for i, title := range titles {
		if have[i] != want[i] {
			return fmt.Sprintf("%s: %q here, %q upstream", title, have[i], want[i])
		}
	}
	return ""
}

// mistake returns the mistake in the note on a name, empty if there is none.
func (h here) mistake(section string, n upstream.Name) string {
	text, absent := h.difference(section, n)
	switch {
	case text == "" && strings.HasPrefix(n.Note, "limited: "):
		return "" // the effect of a limited name cannot be checked in the code
	case text == "" && n.Note != "":
		return "the note is outdated, there is no difference: " + n.Note
	case text != "" && n.Note == "":
		return "a note is missing: " + text
	case text != "" && (absent != strings.HasPrefix(n.Note, "absent: ") || strings.HasPrefix(n.Note, "limited: ")):
		return fmt.Sprintf("the note %q does not agree with: %s", n.Note, text)
	}
	return ""
}
