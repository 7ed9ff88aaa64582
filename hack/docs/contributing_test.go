package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The map in CONTRIBUTING.md names each folder of these, so that a reader finds what decides what.
func TestMapNamesEveryFolder(t *testing.T) {
	text := contributing(t)
	_, rest, _ := strings.Cut(text, "## The map")
	_, rest, _ = strings.Cut(rest, "```text")
	drawn, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no map")
	}
	for parent, mark := range map[string]string{
		"cloud": "/", "engine": "/", "provider": "/", "internal": "/",
		"internal/controller": `[,\n]`, // these are in one list
	} {
		folders, err := os.ReadDir(filepath.Join("../..", parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			if !f.IsDir() || f.Name() == "internal" || f.Name() == "testdata" {
				continue
			}
			if !regexp.MustCompile(`\b` + f.Name() + mark).MatchString(drawn) {
				t.Errorf("the map does not name %s/%s", parent, f.Name())
			}
		}
	}
}

// The row of make gen in CONTRIBUTING.md names every generated page.
func TestCommandNamesEveryPage(t *testing.T) {
	var row string
	for line := range strings.Lines(contributing(t)) {
		if strings.HasPrefix(line, "| `make gen` |") {
			row = line
		}
	}
	_, list, _ := strings.Cut(row, "docs/{")
	list, _, _ = strings.Cut(list, "}.md")
	named := map[string]bool{}
	for page := range strings.SplitSeq(list, ",") {
		named[page] = true
	}
	files, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	for path := range files {
		if page, ok := strings.CutSuffix(filepath.Base(path), ".md"); ok && !named[page] {
			t.Errorf("the row of make gen does not name %s", path)
		}
	}
}

func contributing(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
