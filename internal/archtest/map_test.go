package archtest

import (
	"slices"
	"strings"
	"testing"
)

// A room is a tree of packages on the map, and the rooms that it may look into. Every package belongs to the room with the
// longest name that it lies in, and may always import that room.
type room struct {
	tree string
	may  []string
	why  string
}

// engineRooms are all rooms of the engine.
var engineRooms = []string{
	"engine/model", "engine/require", "engine/topology", "engine/binpack", "engine/pack", "engine/drain",
	"engine/lifecycle", "engine/disrupt", "engine/verify", "engine/explain", "engine/overlay", "engine/buffer", "engine/steer", "engine/vain",
}

// below is what everything at the edge may know.
var below = append([]string{"api", "cloud", "internal/telemetry"}, engineRooms...)

// rooms is the map. Arrows point down only: a room is listed after those that it may import.
var rooms = []room{
	{"api", nil, "types are the ground that all stands on"},
	{"engine/require", []string{"api"}, "the algebra of labels knows labels, and nothing of who asks"},
	{"engine/model", []string{"api", "engine/require"}, "the words of decisions do not depend on who decides"},
	{"engine/topology", []string{"api", "engine/model", "engine/require"}, "counting domains needs no solver"},
	{"engine/binpack", nil, "a solver that knows nothing of Kubernetes can be tested and used by itself"},
	{"engine/pack", []string{"api", "engine/model", "engine/require", "engine/topology", "engine/binpack"},
		"placing pods must not depend on why nodes go away"},
	{"engine/overlay", []string{"api", "engine/model", "engine/require"},
		"what the user corrects about types does not depend on who chooses among them"},
	{"engine/buffer", []string{"api", "engine/model"},
		"how much room a buffer asks for does not depend on where it is found"},
	{"engine/steer", []string{"api", "engine/model"}, "steering follows plans, whoever made them"},
	{"engine/vain", []string{"api", "engine/model"}, "what came of launches is judged by what is seen, whoever planned them"},
	{"engine/drain", []string{"api", "engine/model"}, "how pods leave a node does not depend on why it goes"},
	{"engine/lifecycle", []string{"api", "engine/model", "engine/require", "engine/drain"},
		"one claim is judged by what is known of it alone"},
	{"engine/disrupt", []string{"api", "engine/model", "engine/require", "engine/topology", "engine/binpack", "engine/pack", "engine/drain",
		"engine/lifecycle"},
		"disruption asks the packer where pods would go; nothing asks disruption"},
	{"engine/verify", []string{"api", "engine/model"},
		"a judge that shares code with the solver shares its mistakes: model and component-helpers only"},
	{"engine/explain", []string{"api", "engine/model", "engine/require", "engine/topology", "engine/pack", "engine/disrupt",
		"engine/lifecycle", "engine/drain"}, "explaining reads decisions; no decision reads explanations"},
	{"engine/scenario", []string{"api", "engine/model", "engine/require"}, "scenarios feed tests of any room of the engine"},
	{"cloud", []string{"api", "engine/model", "engine/require"}, "the contract with a cloud knows no cloud and no controller"},
	{"internal/telemetry", []string{"api"}, "metrics and events are declared once and know nobody who uses them"},
	{"internal/finding", nil, "how bad a finding is, and how a doctor says one, is the same whatever was looked at"},
	{"provider", []string{"api", "cloud", "engine/model", "engine/require", "internal/telemetry", "internal/finding"},
		"a provider is a value behind cloud.Provider: it knows the contract, not who calls it"},
	{"internal/observe", below, "the one reader knows the engine's words, and no writer"},
	{"internal/act", below, "the one writer carries out decisions and makes none"},
	{"internal/controller", append([]string{"internal/observe", "internal/act"}, below...),
		"a controller observes, asks the engine, acts and tells; the cloud is cloud.Provider to it"},
	{"internal/sim", append([]string{"internal/observe", "internal/act", "internal/controller"}, below...),
		"the simulator drives the real controllers and brings its own cluster and cloud"},
	{"internal/dashboard", append([]string{"internal/observe"}, below...), "the dashboard only reads"},
	{"internal/awsemu", nil, "the emulator is an outsider: it and provider/aws share no code and meet on the wire"},
	{"internal/manifest", []string{"api"}, "reading manifests knows kinds, and not what is decided about them"},
	{"internal/offline", append([]string{"internal/manifest", "provider"}, below...),
		"a cluster made of manifests: the engine's own decisions, with a provider's table and no client"},
	{"internal/live", append([]string{"internal/observe"}, below...), "a cluster read once is what observe makes of it"},
	{"internal/report", append([]string{"internal/offline"}, below...), "showing decisions knows what was decided, and makes nothing happen"},
	{"internal/archtest", nil, "the architecture test reads source and runs none"},
	{"internal/operator/settings", nil, "settings are read by everyone above and know nobody"},
	{"internal/operator", append([]string{"internal/operator/settings"}, append([]string{"internal/observe", "internal/act", "internal/controller", "internal/dashboard",
		"provider"}, below...)...), "the composition root knows all that runs in production, and no test double"},
	{"internal/convert", []string{"api"}, "what a manifest of an older API means does not depend on who reads it"},
	{"internal/lint", []string{"api", "engine/model", "engine/require", "internal/finding"}, "mistakes are found in the files alone; types are handed in"},
	{"internal/doctor", []string{"api", "internal/finding"}, "a doctor looks with a client of its own, and treats nothing"},
	{"internal/manual", nil, "the manual is read as text, and run by whoever has the programs"},
	{"internal/manual/account", nil, "the account that the manual sets up is met on the wire, whoever emulates the rest of it"},
	{"internal/manual/awscli", nil, "what pages call aws knows AWS's own SDK, and not who answers"},
	{"internal/migrate", []string{"api"}, "node groups are read from their cloud's answers, as files"},
	{"internal", below, "a new room starts with what everything at the edge may know; give it a line of its own"},
	{"cmd", append([]string{"internal/operator", "internal/operator/settings", "internal/observe", "internal/act", "internal/controller", "internal/sim",
		"internal/dashboard", "internal/manifest", "internal/offline", "internal/live", "internal/report", "internal/convert", "internal/lint", "internal/doctor", "internal/finding",
		"internal/migrate", "provider", "internal"}, below...), "commands put rooms together; none is linked to the emulator"},
	{"hack", append([]string{"provider", "internal/operator/settings"}, below...), "generators may read what they generate for"},
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

// Every import between our packages is an arrow of the map.
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

// Packages made for tests are imported by tests only; this graph has no tests in it.
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
