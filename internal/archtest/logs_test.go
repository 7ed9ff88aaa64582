package archtest

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	gopackages "golang.org/x/tools/go/packages"
)

// reservedLogKeys are the keys that the logger and controller-runtime write themselves. An attribute with such a key would
// replace the value of the logger, because most JSON parsers keep the last one of several equal keys.
var reservedLogKeys = []string{
	"message", "msg", "level", "time", "ts", "logger", "caller", "source", "commit", "error", "err", "stacktrace",
	"namespace", "name", "controller", "controllerGroup", "controllerKind", "reconcileID",
}

// kebabCase matches valid keys of values that are not objects.
var kebabCase = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func TestLogLines(t *testing.T) {
	rule{
		must: "log keys are kebab-case, or a kind with a klog.ObjectRef; messages are lower case without a full stop",
		why:  "an index rejects lines in which a key has another type than before, and a repeated key hides the first",
		fix: "name an object by its kind with klog.KRef, and call other keys by what they are: message-kind, not message." +
			" Only a line of level info may have an error",
	}.report(t, logMistakes(t, "./..."))
}

func TestLogMistakesSeen(t *testing.T) { seesMistakes(t, "logs", logMistakes) }

// logMistakes returns the calls of a logr.Logger with keys or messages that break the rule.
func logMistakes(t *testing.T, pattern string) []string {
	t.Helper()
	return inspect(t, pattern, func(p *gopackages.Package, n ast.Node) string {
		call, ok := n.(*ast.CallExpr)
		if !ok || call.Ellipsis.IsValid() {
			return ""
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		method, ok := p.TypesInfo.Uses[selector.Sel].(*types.Func)
		if !ok || method.Pkg() == nil || method.Pkg().Path() != "github.com/go-logr/logr" {
			return ""
		}
		message, pairs := -1, 0 // the arguments that are the message and the first key
		switch method.Name() {
		case "Info":
			message, pairs = 0, 1
		case "Error":
			message, pairs = 1, 2
		case "WithValues":
		default:
			return ""
		}
		if message >= 0 {
			if what := wrongLogMessage(leadingText(p.TypesInfo, call.Args[message]), constantText(p.TypesInfo, call.Args[message])); what != "" {
				return what
			}
		}
		for i := pairs; i+1 < len(call.Args); i += 2 {
			key, value := constantText(p.TypesInfo, call.Args[i]), p.TypesInfo.TypeOf(call.Args[i+1])
			if what := wrongLogKey(key, value, method.Name()); what != "" {
				return what
			}
		}
		return ""
	})
}

// wrongLogKey returns the mistake in a key, "" if there is none. A key that is not a constant is assumed to
// be a kind.
func wrongLogKey(key string, value types.Type, method string) string {
	switch {
	case key == "error" && method == "Info":
		return ""
	case slices.Contains(reservedLogKeys, key):
		return fmt.Sprintf("key %q is reserved", key)
	case key == "" || unicode.IsUpper(rune(key[0])):
		if !isNamed(value, "k8s.io/klog/v2", "ObjectRef") {
			return fmt.Sprintf("key %q has no ObjectRef", key)
		}
	case !kebabCase.MatchString(key):
		return fmt.Sprintf("key %q is not kebab-case", key)
	}
	return ""
}

// wrongLogMessage returns the mistake in a message, "" if there is none. begins is the constant beginning of
// the message, and whole the whole message. Each is empty if it is not known.
func wrongLogMessage(begins, whole string) string {
	switch {
	case len(begins) > 1 && unicode.IsUpper(rune(begins[0])) && unicode.IsLower(rune(begins[1])):
		return "message begins with a capital letter"
	case whole != "" && strings.ContainsAny(whole[len(whole)-1:], ".: ") || strings.Contains(whole, "\n"):
		return "message ends with a stop or has a line break"
	}
	return ""
}

// constantText returns the value of a constant string, "" for any other expression.
func constantText(info *types.Info, e ast.Expr) string {
	if v := info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// leadingText returns the constant with which a string begins, "" if it is not known. For a sum that is the
// first operand. For a call of fmt.Sprintf it is the format.
func leadingText(info *types.Info, e ast.Expr) string {
	if text := constantText(info, e); text != "" {
		return text
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		return leadingText(info, e.X)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && len(e.Args) > 0 && (f.Sel.Name == "Sprintf" || f.Sel.Name == "Errorf") {
			return constantText(info, e.Args[0])
		}
	}
	return ""
}

// isNamed reports whether t is the named type.
func isNamed(t types.Type, path, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path
}
