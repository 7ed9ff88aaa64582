package archtest

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
	"testing"
	"unicode"

	gopackages "golang.org/x/tools/go/packages"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// reasonPackages are the packages that declare the reasons of events. The reasons are constants whose names
// begin with the given prefix.
var reasonPackages = map[string]string{"internal/telemetry": "Event", "engine/interruption": "Reason"}

func TestEvents(t *testing.T) {
	rule{
		must: "the reason of an event is in telemetry.Reasons, and its message begins with a capital letter and has no full stop",
		why:  "users filter by reason, and the manual lists those of the table only",
		fix:  "add the reason to internal/telemetry with a line in Reasons",
	}.report(t, append(eventMistakes(t, "./..."), undocumentedReasons(t)...))
}

func TestEventMistakesSeen(t *testing.T) { seesMistakes(t, "events", eventMistakes) }

// documentedReasons returns the names of the reasons in telemetry.Reasons.
func documentedReasons() map[string]bool {
	known := map[string]bool{}
	for _, r := range telemetry.Reasons() {
		known[r.Name] = true
	}
	return known
}

// eventMistakes returns the events, as literals or as calls of a method Event, that have a constant reason that is not in
// telemetry.Reasons, or a message that begins with a small letter or ends with a full stop. It does not check values that are
// not constants.
func eventMistakes(t *testing.T, pattern string) []string {
	t.Helper()
	known := documentedReasons()
	return inspect(t, pattern, func(p *gopackages.Package, n ast.Node) string {
		var reason, message ast.Expr
		switch n := n.(type) {
		case *ast.CompositeLit:
			kind := p.TypesInfo.TypeOf(n)
			if !isNamed(kind, modulePath+"/internal/telemetry", "Event") && !isNamed(kind, modulePath+"/engine/interruption", "Event") {
				return ""
			}
			reason, message = fieldOf(n, "Reason"), fieldOf(n, "Message")
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Event" || len(n.Args) != 4 {
				return ""
			}
			reason, message = n.Args[2], n.Args[3]
		default:
			return ""
		}
		return wrongEvent(p.TypesInfo, reason, message, known)
	})
}

func wrongEvent(info *types.Info, reason, message ast.Expr, known map[string]bool) string {
	if reason != nil {
		if name := constantText(info, reason); name != "" && !known[name] {
			return fmt.Sprintf("reason %q is not in the table", name)
		}
	}
	if message == nil {
		return ""
	}
	begins, whole := leadingText(info, message), constantText(info, message)
	switch {
	case begins != "" && unicode.IsLower(rune(begins[0])):
		return "message begins with a small letter"
	case strings.HasSuffix(whole, ".") || strings.HasSuffix(whole, ":"):
		return "message ends with a stop"
	}
	return ""
}

// fieldOf returns the value of a field of a composite literal, nil if it is not set.
func fieldOf(c *ast.CompositeLit, name string) ast.Expr {
	for _, e := range c.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && isIdent(kv.Key, name) {
			return kv.Value
		}
	}
	return nil
}

// undocumentedReasons returns the constants of reasonPackages that are not in telemetry.Reasons.
func undocumentedReasons(t *testing.T) []string {
	t.Helper()
	known := documentedReasons()
	list, err := loaded("./...")
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, p := range list {
		prefix, holds := reasonPackages[listed{ImportPath: p.PkgPath}.folder()]
		if !holds {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			c, ok := p.Types.Scope().Lookup(name).(*types.Const)
			if ok && strings.HasPrefix(name, prefix) && c.Val().Kind() == constant.String && !known[constant.StringVal(c.Val())] {
				places = append(places, p.PkgPath+"."+name)
			}
		}
	}
	return places
}
