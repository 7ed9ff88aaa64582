package archtest

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"testing"
)

// wallClock are the functions of package time that read the machine's clock or wait for it.
var wallClock = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true,
	"NewTimer": true, "NewTicker": true,
}

// wallContexts are the functions of package context that wait for the machine's clock.
var wallContexts = map[string]bool{
	"WithTimeout": true, "WithTimeoutCause": true, "WithDeadline": true, "WithDeadlineCause": true,
}

// timeless are the trees whose code and tests must not use the machine's clock.
var timeless = []string{
	"engine", "api", "cloud", "internal/observe", "internal/act", "internal/controller", "internal/workers", "internal/singleton",
	"internal/timeout",
}

// clocked are the trees whose code must not use the machine's clock. Their tests may use it, except in
// timeless trees.
var clocked = append([]string{"provider", "internal"}, timeless...)

// mayReadClock are the exceptions: trees below clocked that may use the machine's clock, with the reason.
var mayReadClock = map[string]string{
	"internal/awsemu": "is a server of its own, and its clients measure it by theirs",
	"internal/sim":    "runs in a testing/synctest bubble, whose time is virtual",
}

func TestNoWallClock(t *testing.T) {
	rule{
		must: "nothing but programs, tests of providers and the emulator reads or waits for the machine's clock",
		why:  "the same snapshot must give the same plan, and tests and the simulator run the same code under virtual time",
		fix: "in the engine take the time from the input (Snapshot.Now); elsewhere from a clock.Clock: wait with RequeueAfter, and" +
			" bound a call with timeout.Context",
	}.check(t, wallClockUses)
}

// wallClockUses returns the lines where a file of a clocked tree uses the machine's clock. In a timeless tree it also
// checks tests, because tests that read the clock are slow or flaky. Tests may use contexts with a timeout, to bound a call
// that could hang.
func wallClockUses(s source) []string {
	forTests := s.test() || importedAs(s, "testing") != ""
	if !s.in(timeless...) && (forTests || !s.in(clocked...)) || mayRead(s.name) {
		return nil
	}
	places := uses(s, "time", wallClock)
	if !forTests {
		places = append(places, uses(s, "context", wallContexts)...)
	}
	return places
}

// mayRead reports whether a file may use the machine's clock.
func mayRead(name string) bool {
	return anyWithin(name, slices.Collect(maps.Keys(mayReadClock)))
}

// uses returns the lines where a file uses one of the given functions of a package of the standard library.
func uses(s source, imported string, functions map[string]bool) []string {
	name := importedAs(s, imported)
	if name == "" {
		return nil
	}
	var places []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && functions[sel.Sel.Name] {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
				places = append(places, s.at(n)+" uses "+imported+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return places
}

// importedAs returns the name by which the file refers to an imported package, "" if it does not import the
// package.
func importedAs(s source, importPath string) string {
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func TestNoGoroutinesInControllers(t *testing.T) {
	rule{
		must: "controllers start no goroutine",
		why:  "a controller is Reconcile(ctx, request), so that the simulator can drive it step by step and a seed replays exactly",
		fix:  "do the work in Reconcile, bounded, and ask for the next step with RequeueAfter; for own timing use a singleton source",
	}.check(t, goStatements)
}

// goStatements returns the lines with go statements in a file of a controller. It returns none for a test.
func goStatements(s source) []string {
	if s.test() || !s.in("internal/controller") {
		return nil
	}
	var places []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if _, ok := n.(*ast.GoStmt); ok {
			places = append(places, s.at(n)+" starts a goroutine")
		}
		return true
	})
	return places
}

// Code of the controllers does not import errgroup, because a panic in a goroutine of errgroup ends the
// process and all its controllers.
func TestPanicsAreRecovered(t *testing.T) {
	rule{
		must: "what runs at once in the controller survives a panic",
		why:  "errgroup recovers nothing: one bad answer of a cloud would end the process again and again",
		fix:  "use internal/parallel",
	}.check(t, errgroups)
}

// errgroups returns the imports of errgroup in code that runs in the controller. It does not check the emulator and tests of
// providers, which are separate programs.
func errgroups(s source) []string {
	if s.test() || !s.in("engine") && !s.in("internal") && !s.in("provider") && !s.in("cloud") || s.in("internal/awsemu") || s.in("cloud/cloudtest") {
		return nil
	}
	for _, spec := range s.file.Imports {
		if spec.Path.Value == `"golang.org/x/sync/errgroup"` {
			return []string{s.at(spec) + " imports errgroup"}
		}
	}
	return nil
}

// No test calls time.Sleep, because tests that sleep are slow and flaky.
func TestNoSleepInTests(t *testing.T) {
	rule{
		must: "tests do not sleep",
		why:  "a sleep is either too long or, one day, too short",
		fix:  "step a fake clock, wait for a channel or a watch, or poll a condition with a deadline",
	}.check(t, sleepingTests)
}

func sleepingTests(s source) []string {
	if !s.test() || s.in(timeless...) {
		return nil // TestNoWallClock checks tests of timeless trees
	}
	return uses(s, "time", map[string]bool{"Sleep": true})
}
