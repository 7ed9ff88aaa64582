package archtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each check finds the mistake in a piece of code that is made for it, and accepts correct code.
func TestChecksSeeMistakes(t *testing.T) {
	long := strings.Repeat("\n", maxLines+1)
	for _, tt := range []struct {
		name  string
		file  string
		text  string
		check func(source) []string
		want  int
	}{
		{"clock in the engine", "engine/pack/a.go", "package pack\nimport \"time\"\nvar a = time.Now()", wallClockUses, 1},
		{"clock under another name", "engine/pack/a.go", "package pack\nimport t \"time\"\nvar a = t.Since", wallClockUses, 1},
		{"a duration", "engine/pack/a.go", "package pack\nimport \"time\"\nvar a = time.Second", wallClockUses, 0},
		{"Now of another type", "engine/pack/a.go", "package pack\nvar a = s.Now", wallClockUses, 0},
		{"clock in a program", "cmd/karpenter/a.go", "package main\nimport \"time\"\nvar a = time.Now()", wallClockUses, 0},
		{"a context that waits for the clock", "provider/x/a.go", "package x\nimport \"context\"\nvar a = context.WithTimeout", wallClockUses, 1},
		{"a deadline of a context", "internal/operator/a.go", "package x\nimport c \"context\"\nvar a = c.WithDeadlineCause", wallClockUses, 1},
		{"a context without a clock", "provider/x/a.go", "package x\nimport \"context\"\nvar a = context.WithCancel", wallClockUses, 0},
		{"a test that bounds a call", "engine/a_test.go", "package x\nimport \"context\"\nvar a = context.WithTimeout", wallClockUses, 0},
		{"a timer of a provider", "provider/x/a.go", "package x\nimport \"time\"\nvar a = time.NewTimer", wallClockUses, 1},
		{"a provider's test", "provider/x/a_test.go", "package x\nimport \"time\"\nvar a = time.Now", wallClockUses, 0},
		{"the emulator", "internal/awsemu/a.go", "package x\nimport \"time\"\nvar a = time.Now", wallClockUses, 0},
		{"a test that sleeps", "provider/a_test.go", "package p\nimport \"time\"\nfunc f() { time.Sleep(1) }", sleepingTests, 1},
		{"a goroutine of a controller", "internal/controller/x/a.go", "package x\nfunc f() { go f() }", goStatements, 1},
		{"a goroutine of a test", "internal/controller/x/a_test.go", "package x\nfunc f() { go f() }", goStatements, 0},
		{"an errgroup", "provider/x/a.go", "package x\nimport \"golang.org/x/sync/errgroup\"", errgroups, 1},
		{"an errgroup of the emulator", "internal/awsemu/a.go", "package x\nimport \"golang.org/x/sync/errgroup\"", errgroups, 0},
		{"a goroutine elsewhere", "internal/operator/a.go", "package x\nfunc f() { go f() }", goStatements, 0},
		{"an init function", "provider/x/a.go", "package x\nfunc init() {}", initFunctions, 1},
		{"a method called init", "provider/x/a.go", "package x\nfunc (a) init() {}", initFunctions, 0},
		{"a large interface", "internal/x/a.go", "package x\ntype a interface{ a(); b(); c(); d(); e(); f() }", largeInterfaces, 1},
		{"a small interface", "internal/x/a.go", "package x\ntype a interface{ a(); b(); c(); d(); e(); x }", largeInterfaces, 0},
		{"the contract with a cloud", "cloud/a.go", "package x\ntype a interface{ a(); b(); c(); d(); e(); f() }", largeInterfaces, 0},
		{"core without alias", "a/a.go", "package a\nimport \"k8s.io/api/core/v1\"", wrongAliases, 1},
		{"core as v1", "a/a.go", "package a\nimport v1 \"k8s.io/api/core/v1\"", wrongAliases, 1},
		{"core as corev1", "a/a.go", "package a\nimport corev1 \"k8s.io/api/core/v1\"", wrongAliases, 0},
		{"storage as a bare version", "a/a.go", "package a\nimport \"k8s.io/api/storage/v1\"", wrongAliases, 1},
		{"anything as v1beta1", "a/a.go", "package a\nimport v1beta1 \"example.com/x\"", wrongAliases, 1},
		{"a major version", "a/a.go", "package a\nimport \"k8s.io/klog/v2\"", wrongAliases, 0},
		{"too long", "a/a.go", "package a" + long, tooLong, 1},
		{"utils.go", "a/utils.go", "package a", emptyName, 1},
		{"helpers_test.go", "a/helpers_test.go", "package a", emptyName, 1},
		{"package common", "a/a.go", "package common", emptyName, 1},
		{"a store in the engine", "engine/x/a.go", "package x\nfunc (l *Ledger) Judge() { l.n++; l.m[1] = 2 }", keptState, 2},
		{"a method that only reads", "engine/x/a.go", "package x\nfunc (l *Ledger) Judge() int { n := l.n; n++; return n }", keptState, 0},
		{"a variable that changes", "engine/x/a.go", "package x\nvar n int\nfunc f() { n = 1 }", keptState, 1},
		{"a local variable of that name", "engine/x/a.go", "package x\nvar n int\nfunc f() { n := 0; n = 1; _ = n }", keptState, 0},
		{"a lock in the engine", "engine/x/a.go", "package x\nimport \"sync\"\ntype t struct { l sync.Mutex }", keptState, 1},
		{"a wait within a function", "engine/x/a.go", "package x\nimport \"sync\"\nfunc f() { var w sync.WaitGroup; w.Wait() }", keptState, 0},
		{"a store elsewhere", "internal/x/a.go", "package x\nfunc (l *Ledger) Judge() { l.n++ }", keptState, 0},
		{"a long function", "a/a.go", "package a\nfunc f() {" + strings.Repeat("\n", maxFunction) + "}", longFunctions, 1},
		{"a long table", "a/a.go", "package a\nfunc f() { x = []int{" + strings.Repeat("\n", maxFunction) + "} }", longFunctions, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parseSource(tt.file, []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.check(s); len(got) != tt.want {
				t.Errorf("found %q, want %d", got, tt.want)
			}
		})
	}
}

func TestPackageCommentSeen(t *testing.T) {
	for text, want := range map[string]bool{
		"// Package a adds.\npackage a":          true,
		"// A adds.\npackage a":                  false,
		"// Package about nothing.\npackage a":   false,
		"package a":                              false,
		"// Command x adds.\npackage main":       true,
		"// Package main is here.\npackage main": false,
	} {
		s, err := parseSource("x/a.go", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := saysWhatItDoes(s); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestComponentOf(t *testing.T) {
	for folder, want := range map[string]string{
		"engine/model": "engine/model", "engine/modeling": "", "internal/controller/node/x": "internal/controller",
		"internal/new": "internal", "provider/aws/launch": "provider", "strange": "",
	} {
		if got, _ := componentOf(folder); got.folder != want {
			t.Errorf("%s is in component %q, want %q", folder, got.folder, want)
		}
	}
}

func TestForbiddenImports(t *testing.T) {
	from, _ := componentOf("engine/model")
	p := listed{ImportPath: modulePath + "/engine/model", Imports: []string{
		"fmt", "k8s.io/api/core/v1", modulePath + "/api/v1", modulePath + "/engine/model/sub", modulePath + "/engine/pack",
		modulePath + "/internal/act",
	}}
	want := []string{"engine/model imports engine/pack", "engine/model imports internal/act"}
	if diff := cmp.Diff(want, forbiddenImports(p, from)); diff != "" {
		t.Errorf("forbidden imports (-want +got):\n%s", diff)
	}
}

func TestComponentsAreInOrder(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range components {
		for _, may := range r.may {
			if !seen[may] && may != r.folder {
				known := false
				for _, other := range components {
					known = known || other.folder == may
				}
				if known {
					t.Errorf("%s may import %s, which comes after it", r.folder, may)
				} else {
					t.Errorf("%s may import %s, which is no component", r.folder, may)
				}
			}
		}
		seen[r.folder] = true
	}
}

func TestChain(t *testing.T) {
	g := map[string]listed{
		"a": {Imports: []string{"b", "c"}}, "b": {Imports: []string{"d"}}, "c": {Imports: []string{"x.io/y/z"}},
		"d": {Imports: []string{"x.io/y"}},
	}
	for prefix, want := range map[string]string{"x.io/y": "a -> c -> x.io/y/z", "d": "a -> b -> d", "x.io": "a -> c -> x.io/y/z", "x": ""} {
		if got := chain(g, "a", prefix); got != want {
			t.Errorf("to %s: got %q, want %q", prefix, got, want)
		}
	}
}

func TestEngineObjection(t *testing.T) {
	for imported, fine := range map[string]bool{
		"fmt": true, "time": true, "sync": true, "os": false, "net/http": false, "math/rand/v2": false, "math/bits": true,
		"k8s.io/api/core/v1": true, "k8s.io/client-go/rest": false, "k8s.io/apiserver": false, "github.com/robfig/cron/v3": true,
		"gonum.org/v1/gonum/optimize": true, "example.com/x": false, modulePath + "/api/v1": true,
	} {
		if got := engineObjection(imported); (got == "") != fine {
			t.Errorf("%s: %q", imported, got)
		}
	}
}

func TestTraces(t *testing.T) {
	private := []string{"mirror.corp.test"}
	for text, want := range map[string]int{
		"see /" + "root/x":                          1,
		"path: \"/" + "home/me/src\"":               1,
		"FROM=/" + "work/x":                         1,
		"https://mirror.corp.test/npm":              1,
		"https://example.com/work/x":                0,
		"/var/lib/kubelet and a/root/b and /root":   0,
		"/etc/kubernetes\x00/" + "root/binary.data": 0,
	} {
		if got := traces("f", []byte(text+"\n"), private); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}

func TestProseAndMarks(t *testing.T) {
	for text, want := range map[string]bool{
		"# Pods leave in tiers.\n-- a --\n": true, "-- a --\n": false, "# x\n-- a --\n": false, "# \n\n-- a --\nnot this prose\n": false,
	} {
		if got := hasProse([]byte(text)); got != want {
			t.Errorf("prose of %q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"// Code generated by x. DO NOT EDIT.\n": true, "# Generated by hack/gen from the types. Do not edit.\n": true,
		"a: b\n": false, "// This is generated.\n": false,
	} {
		if got := isMarked([]byte(text)); got != want {
			t.Errorf("mark of %q: %v", text, got)
		}
	}
	for name, want := range map[string]bool{
		"api/v1/zz_generated.deepcopy.go": true, "api/aws/v1/zz_generated.deepcopy.go": true, "api/v1/hash.go": false,
		"engine/zz_generated.deepcopy.go": false,
	} {
		if got := matches("api/**/zz_generated.*.go", name); got != want {
			t.Errorf("%s matches: %v", name, got)
		}
	}
}
