package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The target of every relative link of the manual exists, and its fragment is a heading or an anchor of the target.
func TestLinksLeadSomewhere(t *testing.T) {
	const root = "../.."
	pages := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		pages++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, target := range links(string(text)) {
			if problem := broken(path, target); problem != "" {
				t.Errorf("%s: link to %s: %s", path, target, problem)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 10 {
		t.Errorf("only %d pages were found", pages)
	}
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inline = regexp.MustCompile("`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	source = regexp.MustCompile(`(?:src|srcset)="([^"]+)"`)
)

// links returns the relative link targets of a page, except those in code.
func links(text string) []string {
	text = inline.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	var out []string
	for _, m := range slices.Concat(link.FindAllStringSubmatch(text, -1), source.FindAllStringSubmatch(text, -1)) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			out = append(out, m[1])
		}
	}
	return out
}

// broken returns what is wrong with a link on the page, empty if it is correct.
func broken(page, target string) string {
	file, fragment, _ := strings.Cut(target, "#")
	to := page
	if file != "" {
		to = filepath.Join(filepath.Dir(page), file)
	}
	info, err := os.Stat(to)
	if err != nil {
		return "there is no such file"
	}
	if fragment == "" || info.IsDir() || filepath.Ext(to) != ".md" {
		return ""
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchors(string(text)), fragment) {
		return "there is no heading or anchor of that name"
	}
	return ""
}

var (
	anchor  = regexp.MustCompile(`<a id="([^"]+)">`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchors returns the fragments of a page: those of its headings, as GitHub builds them, and those of <a id="...">.
func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(name, " ", "-"))
	}
	for _, m := range anchor.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestBrokenLinksAreFound(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "a.md")
	for name, text := range map[string]string{"a.md": "# A page\n", "b.md": "## What `it` does, now\n```\n# no heading\n```\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := links("[x](b.md) `[y](c.md)` [z](https://example.com) <img src=\"d.svg\">\n```\n[w](e.md)\n```\n")
	if want := []string{"b.md", "d.svg"}; !slices.Equal(got, want) {
		t.Errorf("links are %v, want %v", got, want)
	}
	for target, ok := range map[string]bool{
		"b.md": true, "c.md": false, "#a-page": true, "#b-page": false,
		"b.md#what-it-does-now": true, "b.md#no-heading": false, ".": true,
	} {
		if problem := broken(page, target); (problem == "") != ok {
			t.Errorf("%s: %q", target, problem)
		}
	}
}
