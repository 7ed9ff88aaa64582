package archtest

import (
	"strings"
	"testing"
)

// forbidden lists, for trees of packages, the packages that they must not import, directly or through others. A
// new rule is a new line.
var forbidden = []struct {
	trees  []string
	except []string // trees inside these trees to which the rule does not apply
	forbid []string
	why    string
}{
	{
		trees: []string{"engine", "cloud"},
		forbid: []string{
			"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "github.com/prometheus", "go.opentelemetry.io",
		},
		why: "decisions are pure: observe reads, act writes, controllers tell",
	},
	{
		trees:  []string{"engine", "cloud", "api", "internal/observe", "internal/act", "internal/controller", "internal/telemetry"},
		forbid: []string{"github.com/aws"},
		why:    "only a provider knows its cloud; everything else talks to cloud.Provider",
	},
	{
		trees: []string{"api"}, except: []string{"api/admission", "api/apitest"},
		forbid: []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
		why:    "a program that imports the types must not get a client with them",
	},
	{
		trees:  []string{"internal/awsemu"},
		forbid: []string{"github.com/aws/aws-sdk-go-v2"},
		why:    "the emulator speaks the protocols itself; sharing the SDK's code would hide both sides' mistakes",
	},
	{
		trees: []string{"api", "cloud", "engine", "provider", "internal", "cmd"},
		forbid: []string{
			"sigs.k8s.io/karpenter", "github.com/aws/karpenter-provider-aws", "k8s.io/autoscaler", "k8s.io/kubernetes",
			"github.com/cristim/ec2-instances-info", "sigs.k8s.io/kwok",
		},
		why: "no other autoscaler is linked in, and neither are Kubernetes' programs nor the source data of the catalogue",
	},
	{
		trees:  []string{"api", "cloud", "engine", "provider", "internal", "cmd", "hack"},
		forbid: []string{"github.com/samber/lo"},
		why:    "slices, maps, cmp and iter of the standard library say it as well",
	},
}

func TestReach(t *testing.T) {
	g := packages(t)
	for _, f := range forbidden {
		for _, p := range g {
			if p.folder() == "" || p.forTests() || !anyWithin(p.folder(), f.trees) || anyWithin(p.folder(), f.except) {
				continue
			}
			for _, prefix := range f.forbid {
				way := chain(g, p.ImportPath, prefix)
				if way == "" || strings.Count(way, " -> ") > 1 && reported(g, p, prefix, f.trees) {
					continue
				}
				rule{strings.Join(f.trees, ", ") + " must not reach " + prefix, f.why,
					"cut one link of the chain: move the code that needs it to the edge, or hand its result in"}.report(t, []string{way})
			}
		}
	}
}

// reported reports whether p imports another package of the trees that reaches prefix. The failure is then reported for that
// package, so that each chain of imports has one failure.
func reported(g map[string]listed, p listed, prefix string, trees []string) bool {
	for _, imported := range p.Imports {
		folder := listed{ImportPath: imported}.folder()
		if folder != "" && anyWithin(folder, trees) && chain(g, imported, prefix) != "" {
			return true
		}
	}
	return false
}

func anyWithin(folder string, trees []string) bool {
	for _, tree := range trees {
		if within(folder, tree) {
			return true
		}
	}
	return false
}

// engineMay are the packages that the engine may import besides the standard library and packages of this
// project.
var engineMay = []struct{ prefix, why string }{
	{"k8s.io/api", "types of Kubernetes' objects"},
	{"k8s.io/apimachinery", "quantities, selectors, sets and names that those types are made of"},
	{"k8s.io/component-helpers", "the scheduler's own rules for resources, affinity and tolerations"},
	{"github.com/go-logr/logr", "component-helpers ask for a logger; logr.Discard is the engine's"},
	{"github.com/robfig/cron/v3", "schedules of budgets"},
	{"github.com/bits-and-blooms/bitset", "sets of small integers"},
	{"gonum.org/v1/gonum", "linear programs"},
}

// engineMustNot are the packages of the standard library that the engine must not import, with the reason. They read or
// change the environment of the process, or make two runs differ.
var engineMustNot = map[string]string{
	"os": "reads the world", "os/exec": "changes the world", "os/signal": "listens to the world", "os/user": "reads the world",
	"io/ioutil": "reads the world", "log": "says things", "log/slog": "says things", "net": "reads the world",
	"net/http": "reads the world", "flag": "is a global setting", "expvar": "is a global", "plugin": "loads code",
	"math/rand": "makes two runs differ", "math/rand/v2": "makes two runs differ", "crypto/rand": "makes two runs differ",
	"syscall": "reads the world", "unsafe": "hides what is shared", "runtime/debug": "changes the process",
	"database/sql": "reads the world", "text/template": "makes text where a Verdict should travel",
}

func TestEngineWhitelist(t *testing.T) {
	for _, p := range packages(t) {
		if !within(p.folder(), "engine") || p.forTests() {
			continue
		}
		for _, imported := range p.Imports {
			if why := engineObjection(imported); why != "" {
				rule{"the engine imports only a short list", why,
					"decide on values that are handed in; if the list is too short, add a line to engineMay with its reason"}.
					report(t, []string{p.folder() + " imports " + imported})
			}
		}
	}
}

// engineObjection returns the reason why the engine must not import a package, "" if it may.
func engineObjection(imported string) string {
	if why, banned := engineMustNot[imported]; banned {
		return imported + " " + why + "; the engine is a pure function"
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") || strings.HasPrefix(imported, modulePath+"/") {
		return "" // the standard library is allowed; TestImports checks packages of this project
	}
	for _, m := range engineMay {
		if imported == m.prefix || strings.HasPrefix(imported, m.prefix+"/") {
			return ""
		}
	}
	return "it may use types of Kubernetes and a few libraries without side effects"
}
