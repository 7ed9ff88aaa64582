package archtest

import (
	"slices"
	"strings"
	"testing"
)

// A component is a folder of packages, with the components that it may import. A package belongs to the component with the longest
// path that contains the package. It may always import packages of its own component.
type component struct {
	folder string
	may    []string // folders of components
	why    string
}

// engineComponents are all components of the engine.
var engineComponents = []string{
	"engine/units", "engine/table", "engine/commitment", "engine/model", "engine/require", "engine/volume", "engine/topology", "engine/binpack", "engine/pack", "engine/drain",
	"engine/lifecycle", "engine/repair",
	"engine/disrupt", "engine/disrupt/status", "engine/disrupt/budget", "engine/disrupt/move", "engine/disrupt/problem",
	"engine/disrupt/methods", "engine/disrupt/consolidate", "engine/verify", "engine/explain", "engine/overlay", "engine/buffer",
	"engine/nominate", "engine/launchbackoff", "engine/interruption", "engine/deletioncost", "engine/cost",
}

// below are the components that most packages below internal may import.
var below = append([]string{"api", "cloud", "internal/telemetry", "internal/tracing", "internal/timeout", "internal/parallel"}, engineComponents...)

// components has all components. Imports point down only: a component is listed after the components that it may import.
var components = []component{
	{"api", nil, "API types import nothing of the project, so that everything may import them"},
	{"engine/units", nil, "formatting amounts depends on no decision"},
	{"engine/table", nil, "a map does not depend on the type of its values"},
	{"engine/require", []string{"api"}, "the algebra of label requirements depends on labels only"},
	{"engine/commitment", nil, "how commitments cover nodes is arithmetic, without a cluster"},
	{"engine/model", []string{"api", "engine/commitment", "engine/require", "engine/table", "engine/units"}, "the types of inputs and decisions do not depend on the code that decides"},
	{"engine/volume", []string{"engine/model", "engine/require"}, "the requirements of a volume do not depend on how its pod is placed"},
	{"engine/topology", []string{"api", "engine/model", "engine/require"}, "domains are counted without the solver"},
	{"engine/binpack/vector", nil, "vectors of numbers do not depend on their meaning"},
	{"engine/binpack/lp", []string{"engine/binpack/vector"}, "linear programs do not depend on what is packed"},
	{"engine/binpack/typeset", nil, "sets of numbers do not depend on their meaning"},
	{"engine/binpack", []string{"engine/binpack/vector", "engine/binpack/lp", "engine/binpack/typeset"}, "the packing solver takes and returns numbers, so that it can be used for any vector packing problem"},
	{"engine/pack/encode", nil, "how pods are encoded does not depend on what their encodings are compared for"},
	{"engine/pack/catalog", []string{"api", "engine/commitment", "engine/binpack/vector", "engine/model", "engine/units", "engine/require", "engine/volume", "engine/binpack", "engine/binpack/typeset", "engine/pack/encode"},
		"the table of offerings does not depend on the pods"},
	{"engine/pack/compile", []string{"api", "engine/binpack/vector", "engine/model", "engine/require", "engine/volume", "engine/topology", "engine/pack/encode", "engine/pack/catalog"},
		"the compiled problem does not depend on the phases that solve it"},
	{"engine/pack/existing", []string{"api", "engine/binpack/vector", "engine/model", "engine/require", "engine/topology", "engine/pack/catalog", "engine/pack/compile"},
		"pods are placed on existing nodes before new nodes are planned"},
	{"engine/pack/assign", []string{"api", "engine/binpack/vector", "engine/model", "engine/require", "engine/topology", "engine/pack/encode", "engine/pack/catalog", "engine/pack/compile",
		"engine/pack/existing"}, "domains are assigned before nodes are planned"},
	{"engine/verify", []string{"api", "engine/model"},
		"a check that shared code with the solver would share its mistakes, so it uses model and component-helpers only"},
	{"engine/pack", []string{"api", "engine/binpack/vector", "engine/binpack/typeset", "engine/model", "engine/require", "engine/topology", "engine/binpack", "engine/pack/encode", "engine/pack/catalog",
		"engine/pack/compile", "engine/pack/existing", "engine/pack/assign", "engine/verify"},
		"placing pods does not depend on why nodes are removed; SolveChecked calls verify"},
	{"engine/overlay", []string{"api", "engine/model", "engine/units", "engine/require"},
		"NodeOverlays change instance types before any of them is chosen"},
	{"engine/buffer", []string{"api", "engine/model", "engine/units"},
		"the number of pods of a CapacityBuffer does not depend on where they fit"},
	{"engine/nominate", []string{"api", "engine/model"}, "nominations are derived from plans, whichever controller made them"},
	{"engine/launchbackoff", []string{"api", "engine/model", "engine/units"}, "whether a launched node was used is decided from the snapshot, without the solver"},
	{"engine/drain", []string{"api", "engine/model"}, "how a node is drained does not depend on the reason"},
	{"engine/lifecycle", []string{"api", "engine/model", "engine/units", "engine/require", "engine/drain"},
		"the next step of a NodeClaim depends on this NodeClaim only"},
	{"engine/interruption", []string{"api", "engine/model"},
		"the reaction to an interruption depends on the notice and the NodeClaim, on no cloud"},
	{"engine/repair", []string{"api", "engine/model"}, "whether a node is unhealthy does not depend on the order of repairs"},
	{"engine/disrupt/status", []string{"api", "engine/model", "engine/drain", "engine/lifecycle"}, "whether a node may be disrupted is read from objects and depends on no decision"},
	{"engine/deletioncost", []string{"api", "engine/model", "engine/disrupt/status"}, "deletion costs of pods do not depend on which nodes are chosen"},
	{"engine/cost", []string{"api", "engine/model"}, "costs are attributed by the reasons of decisions, and no decision depends on that"},
	{"engine/disrupt/budget", []string{"api", "engine/model", "engine/units", "engine/drain", "engine/disrupt/status"},
		"disruption budgets count nodes, and do not depend on commands"},
	{"engine/disrupt/move", []string{"api", "engine/model", "engine/pack", "engine/disrupt/status"},
		"the steps of a command do not depend on the method that found it"},
	{"engine/disrupt/problem", []string{"api", "engine/commitment", "engine/model", "engine/require", "engine/binpack/lp", "engine/pack", "engine/repair", "engine/deletioncost", "engine/disrupt/status", "engine/disrupt/budget"},
		"the problem and its state do not depend on the methods"},
	{"engine/disrupt/methods", []string{"api", "engine/model", "engine/units", "engine/repair", "engine/disrupt/status", "engine/disrupt/problem"},
		"methods share only the state"},
	{"engine/disrupt/consolidate", []string{"api", "engine/commitment", "engine/model", "engine/units", "engine/require", "engine/pack", "engine/lifecycle", "engine/disrupt/status",
		"engine/disrupt/problem", "engine/disrupt/move"}, "consolidation shares only the state with the other methods"},
	{"engine/disrupt", []string{"api", "engine/model", "engine/pack", "engine/disrupt/status", "engine/disrupt/budget", "engine/disrupt/problem",
		"engine/disrupt/methods", "engine/disrupt/consolidate"},
		"disruption calls the packer; nothing below calls disruption"},
	{"engine/explain", []string{"api", "engine/model", "engine/units", "engine/require", "engine/topology", "engine/pack/catalog", "engine/disrupt",
		"engine/lifecycle", "engine/drain"}, "explanations are made from decisions; no decision depends on an explanation"},
	{"engine/scenario", []string{"api", "engine/commitment", "engine/model", "engine/require"}, "scenarios are inputs for tests of every package of the engine"},
	{"cloud", []string{"api", "engine/model", "engine/repair", "engine/require"}, "the interface of providers depends on no provider and no controller"},
	{"internal/timeout", nil, "a context with a timeout does not depend on the work that it bounds"},
	{"internal/telemetry", []string{"api"}, "metrics and events are declared in one package, which imports none of their users"},
	{"internal/tracing", nil, "a span does not depend on the work that it measures"},
	{"internal/parallel", nil, "concurrency helpers do not depend on the work"},
	{"internal/flagtype", nil, "types of flags do not depend on the command"},
	{"internal/finding", nil, "the level and the text of a finding do not depend on the check"},
	{"provider", []string{"api", "engine/commitment", "cloud", "engine/model", "engine/require", "internal/telemetry", "internal/finding", "internal/flagtype", "internal/timeout", "internal/parallel"},
		"a provider implements cloud.Provider and depends on none of its callers"},
	{"internal/observe", []string{"api", "cloud", "internal/timeout", "internal/parallel", "engine/model", "engine/require", "engine/topology"},
		"the package that reads the cluster makes no decision and writes nothing"},
	{"internal/act", []string{"api", "internal/parallel", "engine/model", "engine/repair", "engine/require", "engine/overlay", "engine/disrupt", "engine/disrupt/move", "engine/nominate"},
		"the package that writes to the cluster executes decisions and makes none"},
	{"internal/decisions", []string{"api", "internal/telemetry", "engine/model", "engine/explain", "engine/units"},
		"the decision log records decisions, and no decision depends on it"},
	{"internal/apiclock", nil, "a clock depends on nothing that uses it"},
	{"internal/limits", []string{"api", "engine/model", "engine/verify"}, "whether two plans together exceed a limit depends on neither planner"},
	{"internal/workers", nil, "numbers of workers and delays of retries depend on no controller"},
	{"internal/singleton", nil, "the request of a periodic controller is a constant"},
	{"internal/ledger", below, "costs are computed from snapshots and decisions, which do not depend on them"},
	{"internal/controller", append([]string{"internal/observe", "internal/ledger", "internal/limits", "internal/act", "internal/decisions", "internal/workers", "internal/singleton"}, below...),
		"a controller reads with observe, calls the engine and writes with act; it uses the cloud as cloud.Provider"},
	{"internal/awsemu", nil, "the emulator and provider/aws share no code, so that a mistake is not made twice; they talk over HTTP"},
	{"internal/catalogue", []string{"api", "engine/model", "engine/require"},
		"the file of instance types is the same for all programs"},
	{"internal/manifest", []string{"api"}, "manifests are decoded without any decision"},
	{"internal/offline", append([]string{"internal/manifest", "internal/catalogue", "internal/ledger", "provider"}, below...),
		"offline commands call the engine with the instance types of a provider, without a client"},
	{"internal/backtest", append([]string{"internal/offline", "internal/manifest"}, below...), "a backtest calls the engine on virtual time, without controllers"},
	{"internal/live", append([]string{"internal/observe", "internal/ledger", "internal/decisions"}, below...), "a live cluster is read by observe, once"},
	{"internal/top", append([]string{"internal/offline", "internal/decisions", "internal/manifest"}, below...), "the terminal view shows decisions and changes nothing"},
	{"internal/report", append([]string{"internal/offline", "internal/backtest", "internal/ledger", "internal/decisions"}, below...), "reports show decisions and change nothing"},
	{"internal/dashboard", append([]string{"internal/observe", "internal/offline", "internal/manifest", "internal/ledger", "internal/decisions"}, below...),
		"the dashboard shows decisions and changes nothing"},
	{"internal/archtest", nil, "the architecture test reads source code and imports none"},
	{"internal/operator/settings", []string{"internal/flagtype"}, "settings depend on none of the packages that use them"},
	{"internal/operator", append([]string{"internal/operator/settings"}, append([]string{"internal/observe", "internal/ledger", "internal/apiclock", "internal/limits", "internal/act", "internal/decisions", "internal/controller", "internal/dashboard",
		"provider"}, below...)...), "the operator connects all packages that run in production, and no test double"},
	{"internal/sim", append([]string{"internal/operator", "internal/operator/settings", "internal/awsemu", "provider"}, below...),
		"the simulator starts the whole operator, with an API server in memory and the emulator"},
	{"internal/convert", []string{"api"}, "conversion of older manifests depends on the API types only"},
	{"internal/lint", []string{"api", "engine/model", "engine/require", "internal/finding"}, "the linter reads manifests only; instance types are an argument"},
	{"internal/doctor", []string{"api", "internal/finding"}, "the checks of a cluster use their own client and change nothing"},
	{"internal/migrate", []string{"api"}, "node groups are read from files with the answers of the cloud"},
	{"internal", below, "the default for a new package; add a line for it"},
	{"cmd", append([]string{"internal/operator", "internal/operator/settings", "internal/observe", "internal/ledger", "internal/act", "internal/decisions", "internal/controller",
		"internal/dashboard", "internal/manifest", "internal/catalogue", "internal/offline", "internal/backtest", "internal/live", "internal/top", "internal/report", "internal/convert", "internal/lint", "internal/doctor", "internal/finding",
		"internal/migrate", "provider", "internal"}, below...), "commands connect packages; none contains the emulator"},
	{"examples", []string{"cloud"}, "an example is written as by a user, so it imports the provider interface only"},
	{"hack", append([]string{"provider", "internal/operator/settings", "internal/lint", "internal/finding"}, below...), "generators import what they generate files for"},
	{"hack/dashdemo", []string{"internal/dashboard"}, "the demonstration serves the dashboard with a generated cluster"},
	{"hack/manual", nil, "the documentation is read as text; tests build the programs that it calls"},
	{"hack/manual/account", nil, "the account that the documentation sets up is called over HTTP, like the emulator that it wraps"},
	{"hack/manual/awscli", nil, "the substitute for the AWS CLI uses the AWS SDK, and no emulator"},
}

// componentOf returns the component of a folder.
func componentOf(folder string) (component, bool) {
	var best component
	found := false
	for _, r := range components {
		if within(folder, r.folder) && (!found || len(r.folder) > len(best.folder)) {
			best, found = r, true
		}
	}
	return best, found
}

// Every import between packages of this project is allowed by components.
func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		if p.folder() == "" {
			continue
		}
		from, ok := componentOf(p.folder())
		if !ok {
			rule{"every package belongs to a component", "a package without a component may import anything",
				"move it, or add its component to components in internal/archtest and to the map in CONTRIBUTING.md"}.
				report(t, []string{p.folder()})
			continue
		}
		rule{
			must: from.folder + " may import only " + strings.Join(append([]string{"itself"}, from.may...), ", "),
			why:  from.why,
			fix: "move the code down to a component that both may import, or hand the value in as an argument or a small interface;" +
				" if the map is wrong, change components in internal/archtest and say why",
		}.report(t, forbiddenImports(p, from))
	}
}

// forbiddenImports returns the imports of p that its component does not allow.
func forbiddenImports(p listed, from component) []string {
	var places []string
	for _, imported := range p.Imports {
		folder := listed{ImportPath: imported}.folder()
		if folder == "" {
			continue
		}
		to, _ := componentOf(folder)
		if to.folder != from.folder && !slices.Contains(from.may, to.folder) {
			places = append(places, p.folder()+" imports "+folder)
		}
	}
	return places
}

// Only tests import packages that are made for tests. The graph contains no tests, so no other package of it
// may import such a package.
func TestTestSupportStaysOut(t *testing.T) {
	g := packages(t)
	var places []string
	for _, p := range g {
		if p.folder() == "" || p.forTests() {
			continue
		}
		for _, imported := range p.Imports {
			if to := g[imported]; to.folder() != "" && to.forTests() {
				places = append(places, p.folder()+" imports "+to.folder())
			}
		}
	}
	rule{"a package that imports testing is imported by tests only",
		"it would put the testing package and its flags into the program",
		"use it from _test.go files, or take the testing import out of it"}.report(t, places)
}
