package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// page returns a page of the manual.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sources returns the code of the controller, without tests.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"cmd", "internal", "provider", "engine"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

var quoted = regexp.MustCompile("`([^`]+)`")

// The messages and fields in the table of log lines on the troubleshooting page are exactly those that the controller writes.
func TestLogLinesAreWritten(t *testing.T) {
	text := page(t, "troubleshooting.md")
	_, table, ok := strings.Cut(text, "## Log lines to grep")
	if !ok {
		t.Fatal("the page has no log lines")
	}
	written, messages := sources(t), 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") || strings.Contains(cells[1], "`message`") {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			messages++
			if !strings.Contains(written, `"`+m[1]+`"`) {
				t.Errorf("nothing writes the message %q", m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			if m[1] != "error" && !strings.Contains(written, `"`+m[1]+`"`) {
				t.Errorf("nothing writes the field %q", m[1])
			}
		}
	}
	for _, m := range regexp.MustCompile(`grep '([^']+)'`).FindAllStringSubmatch(table, -1) {
		if !strings.Contains(written, `"`+m[1]+`"`) {
			t.Errorf("grep '%s' finds nothing", m[1])
		}
	}
	if messages < 10 {
		t.Errorf("found %d messages", messages)
	}
}

var event = regexp.MustCompile("[Ee]vents? `([A-Z][A-Za-z]+)`(?: or `([A-Z][A-Za-z]+)`)?")

// Every event that a page names is declared.
func TestEventsAreDeclared(t *testing.T) {
	var reasons []string
	for _, r := range telemetry.Reasons() {
		reasons = append(reasons, r.Name)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range pages {
		for _, m := range event.FindAllStringSubmatch(page(t, filepath.Base(name)), -1) {
			for _, reason := range m[1:] {
				if reason == "" {
					continue
				}
				found++
				if !slices.Contains(reasons, reason) {
					t.Errorf("%s speaks of the event %s, which is not declared", name, reason)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d events", found)
	}
}

// The figures of the comparison are those of bench.md. Each row of the comparison names a row of bench.md, and that row has the
// same figures.
func TestComparisonIsMeasured(t *testing.T) {
	measured := map[string]string{}
	for line := range strings.Lines(page(t, "bench.md")) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			measured[strings.TrimSpace(cells[1])] += line
		}
	}
	figures := 0
	named, figure := regexp.MustCompile(`: (\w+ \d+, \w+)$`), regexp.MustCompile(`\d+(?:\.\d+)?`)
	for line := range strings.Lines(page(t, "comparison.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		m := named.FindStringSubmatch(strings.TrimSpace(cells[1]))
		if m == nil {
			continue
		}
		if measured[m[1]] == "" {
			t.Errorf("bench.md has no row %q", m[1])
		}
		for _, f := range figure.FindAllString(cells[2]+cells[3], -1) {
			figures++
			if !slices.Contains(strings.Fields(measured[m[1]]), f) {
				t.Errorf("%s: bench.md does not say %s: take its figures over", m[1], f)
			}
		}
	}
	if figures < 8 {
		t.Errorf("found %d figures", figures)
	}
}
