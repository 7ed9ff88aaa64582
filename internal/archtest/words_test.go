package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// The last word in the name of every exported type of the engine is defined in docs/words.md.
func TestNounsAreDefined(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "words.md"))
	if err != nil {
		t.Fatal(err)
	}
	defined := definedWords(string(text))
	rule{
		must: "the noun of every exported type of the engine is in docs/words.md",
		why:  "a reader who does not know a word looks it up, and one word means one thing",
		fix:  "use a word that is there, or define the new one in docs/words.md",
	}.check(t, func(s source) []string { return undefinedNouns(s, defined) })
}

// definedWords returns the words in bold type in a text, without the plural s.
func definedWords(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`\*\*([^*]+)\*\*`).FindAllStringSubmatch(text, -1) {
		for _, w := range strings.Fields(strings.ToLower(m[1])) {
			out[singular(strings.Trim(w, ",;"))] = true
		}
	}
	return out
}

func singular(w string) string { return strings.TrimSuffix(w, "s") }

// undefinedNouns returns the exported types of a file of the engine whose last word is not defined.
func undefinedNouns(s source, defined map[string]bool) []string {
	if s.test() || !s.in("engine") || s.in("engine/scenario") {
		return nil
	}
	var out []string
	for _, d := range s.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok && t.Name.IsExported() && !defined[singular(lastWord(t.Name.Name))] {
				out = append(out, s.name+": "+t.Name.Name)
			}
		}
	}
	return out
}

// lastWord returns the last word of a name in camel case, in lower case.
func lastWord(name string) string {
	runes := []rune(name)
	for i := len(runes) - 1; i > 0; i-- {
		if unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) {
			return strings.ToLower(string(runes[i:]))
		}
	}
	return strings.ToLower(name)
}

func TestUndefinedNouns(t *testing.T) {
	defined := definedWords("| **pool** | a NodePool |\n| **offer**, **offer set** | offers |")
	for name, want := range map[string]bool{"Pool": true, "OfferSets": true, "PoolShelf": false} {
		if got := defined[singular(lastWord(name))]; got != want {
			t.Errorf("%s defined: %t, want %t", name, got, want)
		}
	}
}
