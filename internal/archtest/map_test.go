package archtest

import (
	"slices"
	"strings"
	"testing"
)

// A room is a tree of packages, with the trees that it may import. A package belongs to the room with the longest path
// that contains the package. It may always import packages of its own room.
type room struct {
	tree string
	may  []string
	why  string
}

// engineRooms are all rooms of the engine.
var engineRooms = []string{
	"engine/units", "engine/table", "engine/commitment", "engine/model", "engine/require", "engine/volume", "engine/topology", "engine/binpack", "engine/pack", "engine/drain",
	"engine/lifecycle", "engine/repair",
	"engine/disrupt", "engine/disrupt/status", "engine/disrupt/budget", "engine/disrupt/move", "engine/disrupt/problem",
	"engine/disrupt/methods", "engine/disrupt/consolidate", "engine/verify", "engine/explain", "engine/overlay", "engine/buffer",
	"engine/nominate", "engine/launchbackoff", "engine/interruption", "engine/deletioncost", "engine/cost",
}

// below are the rooms that most packages below internal may import.
var below = append([]string{"api", "cloud", "internal/telemetry", "internal/tracing", "internal/timeout", "internal/parallel"}, engineRooms...)

// rooms has all rooms. Imports point down only: a room is listed after the rooms that it may import.
var rooms = []room{
	{"api", nil, "types are the ground that all stands on"},
	{"engine/units", nil, "how amounts are printed depends on no decision"},
	{"engine/table", nil, "a map knows nothing of what is stored in it"},
	{"engine/require", []string{"api"}, "the algebra of labels knows labels, and nothing of who asks"},
	{"engine/commitment", nil, "how commitments cover classes of nodes is arithmetic, and knows no cluster"},
	{"engine/model", []string{"api", "engine/commitment", "engine/require", "engine/table", "engine/units"}, "the words of decisions do not depend on who decides"},
	{"engine/volume", []string{"engine/model", "engine/require"}, "what a volume requires does not depend on who places the pod"},
	{"engine/topology", []string{"api", "engine/model", "engine/require"}, "counting domains needs no solver"},
	{"engine/binpack/vector", nil, "arithmetic knows nothing of what the numbers stand for"},
	{"engine/binpack/lp", []string{"engine/binpack/vector"}, "linear programming knows nothing of what is packed"},
	{"engine/binpack/typeset", nil, "a set of numbers knows nothing of what they stand for"},
	{"engine/binpack", []string{"engine/binpack/vector", "engine/binpack/lp", "engine/binpack/typeset"}, "the packing solver is numbers: it can be used for any problem of its form"},
	{"engine/pack/encode", nil, "an encoding of pods does not depend on who compares them"},
	{"engine/pack/catalog", []string{"api", "engine/commitment", "engine/binpack/vector", "engine/model", "engine/units", "engine/require", "engine/volume", "engine/binpack", "engine/binpack/typeset", "engine/pack/encode"},
		"what may be launched does not depend on which pods are placed"},
	{"engine/pack/compile", []string{"api", "engine/binpack/vector", "engine/model", "engine/require", "engine/volume", "engine/topology", "engine/pack/encode", "engine/pack/catalog"},
		"a compiled problem does not know the phases that solve it"},
	{"engine/pack/existing", []string{"api", "engine/binpack/vector", "engine/model", "engine/require", "engine/topology", "engine/pack/catalog", "engine/pack/compile"},
		"capacity that exists is used before it is known what is launched"},
	{"engine/pack/assign", []string{"api", "engine/binpack/vector", "engine/model", "engine/require", "engine/topology", "engine/pack/encode", "engine/pack/catalog", "engine/pack/compile",
		"engine/pack/existing"}, "domains are settled before nodes are chosen"},
	{"engine/verify", []string{"api", "engine/model"},
		"a judge that shares code with the solver shares its mistakes: model and component-helpers only"},
	{"engine/pack", []string{"api", "engine/binpack/vector", "engine/binpack/typeset", "engine/model", "engine/require", "engine/topology", "engine/binpack", "engine/pack/encode", "engine/pack/catalog",
		"engine/pack/compile", "engine/pack/existing", "engine/pack/assign", "engine/verify"},
		"placing pods must not depend on why nodes go away; SolveChecked hands its plans to verify"},
	{"engine/overlay", []string{"api", "engine/model", "engine/units", "engine/require"},
		"what the user corrects about types does not depend on who chooses among them"},
	{"engine/buffer", []string{"api", "engine/model", "engine/units"},
		"how much room a buffer asks for does not depend on where it is found"},
	{"engine/nominate", []string{"api", "engine/model"}, "nominations follow plans, whichever controller made them"},
	{"engine/launchbackoff", []string{"api", "engine/model", "engine/units"}, "whether a launch was of use is decided from the snapshot, not from the solver"},
	{"engine/drain", []string{"api", "engine/model"}, "how pods leave a node does not depend on why it goes"},
	{"engine/lifecycle", []string{"api", "engine/model", "engine/units", "engine/require", "engine/drain"},
		"one claim is judged by what is known of it alone"},
	{"engine/interruption", []string{"api", "engine/model"},
		"what a notice calls for depends on the notice and its claim, and on no cloud"},
	{"engine/repair", []string{"api", "engine/model"}, "whether one node is unhealthy does not depend on which node is repaired first"},
	{"engine/disrupt/status", []string{"api", "engine/model", "engine/drain", "engine/lifecycle"}, "what the objects say does not depend on what is decided"},
	{"engine/deletioncost", []string{"api", "engine/model", "engine/disrupt/status"}, "in which order pods should go does not depend on which nodes are chosen"},
	{"engine/cost", []string{"api", "engine/model"}, "what a node is paid for depends on the reasons of decisions, and no decision on that"},
	{"engine/disrupt/budget", []string{"api", "engine/model", "engine/units", "engine/drain", "engine/disrupt/status"},
		"budgets count nodes and pods, whatever the commands are"},
	{"engine/disrupt/move", []string{"api", "engine/model", "engine/pack", "engine/disrupt/status"},
		"a move carries out commands, whichever method found them"},
	{"engine/disrupt/problem", []string{"api", "engine/commitment", "engine/model", "engine/require", "engine/binpack/lp", "engine/pack", "engine/repair", "engine/deletioncost", "engine/disrupt/status", "engine/disrupt/budget"},
		"the problem and its state know no method"},
	{"engine/disrupt/methods", []string{"api", "engine/model", "engine/units", "engine/repair", "engine/disrupt/status", "engine/disrupt/problem"},
		"methods know each other by the state only"},
	{"engine/disrupt/consolidate", []string{"api", "engine/commitment", "engine/model", "engine/units", "engine/require", "engine/pack", "engine/lifecycle", "engine/disrupt/status",
		"engine/disrupt/problem", "engine/disrupt/move"}, "consolidation knows the other methods by the state only"},
	{"engine/disrupt", []string{"api", "engine/model", "engine/pack", "engine/disrupt/status", "engine/disrupt/budget", "engine/disrupt/problem",
		"engine/disrupt/methods", "engine/disrupt/consolidate"},
		"disruption asks the packer where pods would go; nothing asks disruption"},
	{"engine/explain", []string{"api", "engine/model", "engine/units", "engine/require", "engine/topology", "engine/pack/catalog", "engine/disrupt",
		"engine/lifecycle", "engine/drain"}, "explaining reads decisions; no decision reads explanations"},
	{"engine/scenario", []string{"api", "engine/commitment", "engine/model", "engine/require"}, "scenarios feed tests of any room of the engine"},
	{"cloud", []string{"api", "engine/model", "engine/repair", "engine/require"}, "the contract with a cloud knows no cloud and no controller"},
	{"internal/timeout", nil, "a context that ends by a clock is the same whatever is bounded"},
	{"internal/telemetry", []string{"api"}, "metrics and events are declared once and import none of their users"},
	{"internal/tracing", nil, "a span is the same whatever it is around"},
	{"internal/parallel", nil, "running things at once depends on nothing that is run"},
	{"internal/flagtype", nil, "how a flag is parsed does not depend on whose it is"},
	{"internal/finding", nil, "how bad a finding is, and how a doctor says one, is the same whatever was looked at"},
	{"provider", []string{"api", "engine/commitment", "cloud", "engine/model", "engine/require", "internal/telemetry", "internal/finding", "internal/flagtype", "internal/timeout", "internal/parallel"},
		"a provider is a value behind cloud.Provider: it knows the contract, not who calls it"},
	{"internal/observe", []string{"api", "cloud", "internal/timeout", "internal/parallel", "engine/model", "engine/require", "engine/topology"},
		"the one reader knows the engine's words, and neither a decision nor a writer"},
	{"internal/act", []string{"api", "internal/parallel", "engine/model", "engine/repair", "engine/require", "engine/overlay", "engine/disrupt", "engine/disrupt/move", "engine/nominate"},
		"the one writer carries out decisions and makes none: it knows the results of deciders, and no solver"},
	{"internal/decisions", []string{"api", "internal/telemetry", "engine/model", "engine/explain", "engine/units"},
		"the decision log records what was decided, and no decision reads it"},
	{"internal/apiclock", nil, "what time it is depends on nothing that is decided by it"},
	{"internal/limits", []string{"api", "engine/model", "engine/verify"}, "whether two plans keep a limit together depends on neither planner"},
	{"internal/workers", nil, "how many workers there are and how fast they try again depends on no controller"},
	{"internal/singleton", nil, "a request that never changes says nothing about what is done for it"},
	{"internal/ledger", below, "adding up costs takes snapshots and decisions as they come, and has no effect on them"},
	{"internal/controller", append([]string{"internal/observe", "internal/ledger", "internal/limits", "internal/act", "internal/decisions", "internal/workers", "internal/singleton"}, below...),
		"a controller observes, asks the engine, acts and tells; the cloud is cloud.Provider to it"},
	{"internal/awsemu", nil, "the emulator is an outsider: it and provider/aws share no code and meet on the wire"},
	{"internal/catalogue", []string{"api", "engine/model", "engine/require"},
		"the file of instance types is the same for every program that reads it"},
	{"internal/manifest", []string{"api"}, "reading manifests knows kinds, and not what is decided about them"},
	{"internal/offline", append([]string{"internal/manifest", "internal/catalogue", "internal/ledger", "provider"}, below...),
		"a cluster made of manifests: the engine's own decisions, with a provider's table and no client"},
	{"internal/backtest", append([]string{"internal/offline", "internal/manifest"}, below...), "a replay on a virtual clock: the engine's own decisions, without controllers"},
	{"internal/live", append([]string{"internal/observe", "internal/ledger", "internal/decisions"}, below...), "a cluster read once is what observe makes of it"},
	{"internal/top", append([]string{"internal/offline", "internal/decisions", "internal/manifest"}, below...), "the terminal view shows what was decided, and makes nothing happen"},
	{"internal/report", append([]string{"internal/offline", "internal/backtest", "internal/ledger", "internal/decisions"}, below...), "showing decisions knows what was decided, and makes nothing happen"},
	{"internal/dashboard", append([]string{"internal/observe", "internal/offline", "internal/manifest", "internal/ledger", "internal/decisions"}, below...),
		"the web page shows what was decided, and makes nothing happen"},
	{"internal/archtest", nil, "the architecture test reads source and runs none"},
	{"internal/operator/settings", []string{"internal/flagtype"}, "settings are read by every package above and import none of them"},
	{"internal/operator", append([]string{"internal/operator/settings"}, append([]string{"internal/observe", "internal/ledger", "internal/apiclock", "internal/limits", "internal/act", "internal/decisions", "internal/controller", "internal/dashboard",
		"provider"}, below...)...), "the composition root knows all that runs in production, and no test double"},
	{"internal/sim", append([]string{"internal/operator", "internal/operator/settings", "internal/awsemu", "provider"}, below...),
		"the simulator starts the whole operator as a program does, over a cluster and an emulated account of its own"},
	{"internal/convert", []string{"api"}, "what a manifest of an older API means does not depend on who reads it"},
	{"internal/lint", []string{"api", "engine/model", "engine/require", "internal/finding"}, "mistakes are found in the files alone; types are handed in"},
	{"internal/doctor", []string{"api", "internal/finding"}, "a doctor looks with a client of its own, and treats nothing"},
	{"internal/migrate", []string{"api"}, "node groups are read from their cloud's answers, as files"},
	{"internal", below, "a new room starts with what everything at the edge may know; give it a line of its own"},
	{"cmd", append([]string{"internal/operator", "internal/operator/settings", "internal/observe", "internal/ledger", "internal/act", "internal/decisions", "internal/controller",
		"internal/dashboard", "internal/manifest", "internal/catalogue", "internal/offline", "internal/backtest", "internal/live", "internal/top", "internal/report", "internal/convert", "internal/lint", "internal/doctor", "internal/finding",
		"internal/migrate", "provider", "internal"}, below...), "commands put rooms together; none is linked to the emulator"},
	{"examples", []string{"cloud"}, "an example is what a user could write: it knows the protocol only"},
	{"hack", append([]string{"provider", "internal/operator/settings", "internal/lint", "internal/finding"}, below...), "generators may read what they generate for"},
	{"hack/dashdemo", []string{"internal/dashboard"}, "a demonstration shows a generated cluster by the program's own dashboard"},
	{"hack/manual", nil, "the manual is read as text; tests bring the programs that it calls"},
	{"hack/manual/account", nil, "the account that the manual sets up is met on the wire, like the emulator beneath it"},
	{"hack/manual/awscli", nil, "the stand-in for AWS's command line knows AWS's own SDK, and no emulator"},
}

// roomOf returns the room of a folder.
func roomOf(folder string) (room, bool) {
	var best room
	found := false
	for _, r := range rooms {
		if within(folder, r.tree) && (!found || len(r.tree) > len(best.tree)) {
			best, found = r, true
		}
	}
	return best, found
}

// Every import between packages of this project is allowed by rooms.
func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		if p.folder() == "" {
			continue
		}
		from, ok := roomOf(p.folder())
		if !ok {
			rule{"every package has a room on the map", "a package without a room may import anything",
				"move it, or add its room to rooms in internal/archtest and to the map in the documentation"}.
				report(t, []string{p.folder()})
			continue
		}
		rule{
			must: from.tree + " may import only " + strings.Join(append([]string{"itself"}, from.may...), ", "),
			why:  from.why,
			fix: "move the code down to a room that both may import, or hand the value in as an argument or a small interface;" +
				" if the map is wrong, change rooms in internal/archtest and say why",
		}.report(t, badArrows(p, from))
	}
}

// badArrows returns the imports of p that its room does not allow.
func badArrows(p listed, from room) []string {
	var places []string
	for _, imported := range p.Imports {
		folder := listed{ImportPath: imported}.folder()
		if folder == "" {
			continue
		}
		to, _ := roomOf(folder)
		if to.tree != from.tree && !slices.Contains(from.may, to.tree) {
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
