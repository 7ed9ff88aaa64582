package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// worded are the packages whose string literals users read: the command line, findings, and errors about input.
var worded = []string{
	"cmd/karpenter/cli", "internal/manifest", "internal/lint", "internal/convert", "internal/doctor", "internal/migrate",
	"provider/aws/doctor", "local/cli",
}

// metaphors are words for which Kubernetes or plain English has a better word.
var metaphors = []struct{ pattern, instead string }{
	{`c[ao]mes? up`, "started, joined"},
	{`goes|gone|let go|goes away|going away`, "removed, deleted, terminated"},
	{`stays?|stayed`, "kept, remains"},
	{`tells?|told`, "says, reports, prints"},
	{`somebody|nobody|people`, "name the object"},
	{`holds? back|held back|hangs`, "withheld, blocked, stuck"},
	{`in vain|for ever|beyond repair|by halves|by choice|on offer`, "permanently, unusable, voluntary, available"},
	{`room|a place|no place|in (the|its|their) place`, "capacity, not supported, instead"},
	{`is out of (stock|capacity)|take back|gives? back|takes? (it )?off`, "unavailable, reclaim, restore, remove"},
	{`worth|brake|steers?|neighbours`, "value, throttle, control, other nodes"},
	{`looks? at|looked at|looks? (whether|after)|ask(s|ed)? (of|for)`, "check, require, request"},
	{`rights`, "permissions"},
	{`is called|are called`, "renamed to"},
	{`(is|are) no [a-km-z]\w*|(is|are) none`, "is not a (but: no longer)"},
	{`is there|are there|there is no|not there`, "exists, not found"},
	{`left out|leaves? out|leave it out`, "removed, omitted, ignored"},
	{`speaks?|says it better|think of|mistake of this program`, "contains, use, internal error"},
	{`refuses?|refused`, "rejects"},
	{`wants?`, "must be, requires"},
	{`makes? (it|a node|one)|made of`, "create, launch, consists of"},
}

// The texts that commands print use the terms of Kubernetes and no metaphors.
func TestMessagesAreWordedPlainly(t *testing.T) {
	rule{
		must: "messages, findings and help texts have none of the words in metaphors",
		why:  "users read and search messages in the terms of Kubernetes",
		fix:  "use the word that is named beside it",
	}.check(t, func(s source) []string {
		if s.test() || !s.in(worded...) {
			return nil
		}
		return metaphorsIn(s)
	})
}

// metaphorsIn returns the string literals of a file that have one of the words.
func metaphorsIn(s source) []string {
	var out []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil || !strings.Contains(text, " ") {
				break
			}
			for i, m := range metaphors {
				if word := metaphorWords[i].FindString(text); word != "" {
					out = append(out, s.at(n)+": "+strconv.Quote(word)+" in "+n.Value+", better: "+m.instead)
				}
			}
		}
		return true
	})
	return out
}

var metaphorWords = compileWords()

func compileWords() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, m := range metaphors {
		out = append(out, regexp.MustCompile(`(?i)\b(`+m.pattern+`)\b`))
	}
	return out
}

// done matches warnings of convert that state what was changed. Such a warning needs no fix by the user.
var done = regexp.MustCompile(`\b(removed|converted|renamed|interpreted|moved|set to|added)\b`)

// Every error and warning of lint, doctor and convert has a fix.
func TestFindingsHaveAFix(t *testing.T) {
	rule{
		must: "each error and warning of lint and doctor has a fix; each warning of convert has one, or says what was changed",
		why:  "who reads a finding wants to know what to do",
		fix:  "pass a fix, or end the warning of convert with \"; fix: ...\"",
	}.check(t, func(s source) []string {
		if s.test() || !s.in("internal/lint", "internal/convert", "internal/doctor", "provider/aws/doctor") {
			return nil
		}
		return withoutFix(s)
	})
}

// withoutFix returns the calls in a file that report a finding without a fix.
func withoutFix(s source) []string {
	var out []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch {
		case selector.Sel.Name == "found" && len(call.Args) > 3: // check, level, fix, message
			level, _ := call.Args[1].(*ast.SelectorExpr)
			if level != nil && (level.Sel.Name == "Error" || level.Sel.Name == "Warning") && literal(call.Args[2]) == "" && isLiteral(call.Args[2]) {
				out = append(out, s.at(call))
			}
		case selector.Sel.Name == "at" && len(call.Args) > 4: // object, rule, field, fix, message
			if isLiteral(call.Args[3]) && literal(call.Args[3]) == "" {
				out = append(out, s.at(call))
			}
		case selector.Sel.Name == "warn" && len(call.Args) > 2: // object, field, message
			if text := literal(call.Args[2]); isLiteral(call.Args[2]) && !strings.Contains(text, "fix: ") && !done.MatchString(text) {
				out = append(out, s.at(call)+": "+text)
			}
		}
		return true
	})
	return out
}

// isLiteral reports whether an expression is a string literal, or the sum of some.
func isLiteral(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isLiteral(e.X) && isLiteral(e.Y)
	}
	return false
}

// literal returns the text of the string literals in a sum.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}

func TestWordingRules(t *testing.T) {
	for _, tt := range []struct {
		name, code     string
		words, fixless int
	}{
		{"a metaphor", `var a = "the node goes away"`, 1, 0},
		{"a plain text", `var a = "the node is removed"`, 0, 0},
		{"an identifier", `var a = "goes"`, 0, 0},
		{"an error without a fix", `func f() { c.found("crds", finding.Error, "", "no kinds") }`, 0, 1},
		{"an error with a fix", `func f() { c.found("crds", finding.Error, "install them", "no kinds") }`, 0, 0},
		{"a note without a fix", `func f() { c.found("crds", finding.Note, "", "no kinds") }`, 0, 0},
		{"a finding without a fix", `func f() { l.at(o, "rule", "spec", "", "wrong value") }`, 0, 1},
		{"a warning about a change", `func f() { c.warn(o, "spec", "renamed to %s", x) }`, 0, 0},
		{"a warning with a fix", `func f() { c.warn(o, "spec", "has no images;"+" fix: use another") }`, 0, 0},
		{"a warning without a fix", `func f() { c.warn(o, "spec", "has no images") }`, 0, 1},
	} {
		s, err := parseSource("internal/lint/x.go", []byte("package x\n"+tt.code+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := len(metaphorsIn(s)); got != tt.words {
			t.Errorf("%s: %d metaphors, want %d", tt.name, got, tt.words)
		}
		if got := len(withoutFix(s)); got != tt.fixless {
			t.Errorf("%s: %d findings without a fix, want %d", tt.name, got, tt.fixless)
		}
	}
}
