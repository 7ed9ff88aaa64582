package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

var (
	numberedRule = regexp.MustCompile(`(?m)^[0-9]+\. \*\*`)
	namedTest    = regexp.MustCompile("`(Test[A-Za-z]+)`")
)

// Every numbered rule of CONTRIBUTING.md names an existing test of this package.
func TestRulesHaveTests(t *testing.T) {
	known := map[string]bool{}
	for _, s := range goSources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.folder() == "internal/archtest" {
				known[f.Name.Name] = true
			}
		}
	}
	text := string(read(t, "CONTRIBUTING.md"))
	rule{
		must: "each rule of CONTRIBUTING.md names the test that enforces it",
		why:  "a rule without a test is true for a while",
		fix:  "write the test, or move the rule to what reviews look for",
	}.report(t, rulesWithoutTests(text, known))
}

// rulesWithoutTests returns the numbered rules of a text that name no test, or a test that is not in known.
func rulesWithoutTests(text string, known map[string]bool) []string {
	var places []string
	begins := numberedRule.FindAllStringIndex(text, -1)
	if len(begins) == 0 {
		return []string{"no rule is numbered"}
	}
	for i, begin := range begins {
		end := len(text)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		body, _, _ := strings.Cut(text[begin[0]:end], "\n\n")
		title, _, _ := strings.Cut(body, "\n")
		named := namedTest.FindAllStringSubmatch(body, -1)
		if len(named) == 0 {
			places = append(places, fmt.Sprintf("%q names no test", title))
		}
		for _, n := range named {
			if !known[n[1]] {
				places = append(places, fmt.Sprintf("%q names %s, which is not there", title, n[1]))
			}
		}
	}
	return places
}

func TestRulesWithoutTestsSeen(t *testing.T) {
	known := map[string]bool{"TestA": true}
	for text, want := range map[string]int{
		"1. **A.** x `TestA`\n2. **B.** y\n   `TestA`\n\nmore": 0,
		"1. **A.** x\n2. **B.** `TestA`\n":                     1,
		"1. **A.** `TestB`\n":                                  1,
		"1. **A.** x\n\n`TestA`\n":                             1,
		"no rules":                                             1,
	} {
		if got := rulesWithoutTests(text, known); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}
