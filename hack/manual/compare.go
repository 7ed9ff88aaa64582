package manual

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A replacement replaces text that differs between runs by a constant.
type replacement struct {
	form *regexp.Regexp
	by   string
}

var (
	times = []replacement{
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
		{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m|h|d)(\d+(\.\d+)?(ms|s|m|h))*\b`), "TIME"},
	}
	names = []replacement{
		{regexp.MustCompile(`\bi-[0-9a-f]{17}\b`), "INSTANCE"},
		{regexp.MustCompile(`\bip-10-\d+-\d+-\d+\b`), "NODE"},
		{regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`), "ADDRESS"},
		// Random suffixes of Kubernetes have no vowels, so ordinary words do not match.
		{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5,10}(-[bcdfghjklmnpqrstvwxz2456789]{5})?\b`), "-RANDOM"},
		{regexp.MustCompile(`(^|\s)\d{3,7}(\s|$)`), "${1}PROCESS$2"},
		{regexp.MustCompile(`\bTIME\b(,? ?TIME\b)*`), "TIME"},
		{regexp.MustCompile(`\s+`), " "},
	}
)

// Mismatch returns how the output differs from the page, empty if it does not.
//
// If loose is true, for output about a cluster, random names count as equal: instances, nodes, claims, pods, ports,
// processes. Different widths of columns count as equal as well. Lines may have any order, because the order of nodes
// is random.
func Mismatch(want []string, got string, loose bool) string {
	// Progress lines end in " ...". They are ignored, because fast machines print none.
	said := slices.DeleteFunc(lines(got), func(line string) bool { return strings.HasSuffix(line, " ...") })
	expected, printed := clean(want, loose), clean(said, loose)
	var missing []string
	if loose {
		missing, printed = anyOrder(expected, printed)
	} else {
		missing, printed = inOrder(expected, printed)
	}
	if len(missing) == 0 && (len(printed) == 0 || slices.Contains(expected, "...")) {
		return ""
	}
	var b strings.Builder
	for _, line := range missing {
		fmt.Fprintf(&b, "  the page has, and it does not print: %s\n", line)
	}
	if !slices.Contains(expected, "...") {
		for _, line := range printed {
			fmt.Fprintf(&b, "  it prints, and the page has not:     %s\n", line)
		}
	}
	return b.String()
}

// clean returns the lines with times replaced and without spaces at their ends. If loose, it also replaces names and removes
// indentation. A line with only "..." always loses its indentation. Empty lines at the beginning and the end of the text are
// removed.
func clean(text []string, loose bool) []string {
	out := make([]string, 0, len(text))
	for _, line := range text {
		line = strings.TrimRight(line, " \t\r")
		for _, r := range times {
			line = r.form.ReplaceAllString(line, r.by)
		}
		if loose {
			for _, r := range names {
				line = r.form.ReplaceAllString(line, r.by)
			}
			line = strings.TrimSpace(line)
		}
		if trimmed := strings.TrimSpace(line); trimmed == "..." {
			line = trimmed
		}
		out = append(out, line)
	}
	for len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// matches reports whether a printed line matches a line of the page, in which "..." stands for any text.
func matches(want, got string) bool {
	parts := strings.Split(want, "...")
	if len(parts) == 1 {
		return want == got
	}
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}

// inOrder returns the first expected line that was not printed at its position, and the printed lines that were not
// expected.
func inOrder(expected, printed []string) (missing, rest []string) {
	gap := false
	for i, want := range expected {
		if want == "..." {
			gap = true
			continue
		}
		at := slices.IndexFunc(printed, func(got string) bool { return matches(want, got) })
		if at < 0 || at > 0 && !gap {
			return expected[i : i+1], append(rest, printed...)
		}
		rest, printed, gap = append(rest, printed[:at]...), printed[at+1:], false
	}
	if len(printed) > 0 && !gap {
		return []string{"(its end here)"}, printed
	}
	return nil, append(rest, printed...)
}

// anyOrder is like inOrder, but ignores the order and empty lines.
func anyOrder(expected, printed []string) (missing, rest []string) {
	rest = slices.DeleteFunc(printed, func(line string) bool { return line == "" })
	for _, want := range expected {
		if want == "..." || want == "" {
			continue
		}
		at := slices.IndexFunc(rest, func(got string) bool { return matches(want, got) })
		if at < 0 {
			missing = append(missing, want)
			continue
		}
		rest = slices.Delete(rest, at, at+1)
	}
	return missing, rest
}
