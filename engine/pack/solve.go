package pack

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A problem is a Snapshot made ready for packing: numbers instead of names.
type problem struct {
	snapshot *model.Snapshot
	opts     Options
	cols     columns
	plain    int            // how many of cols, the first ones, are resources; the others count volumes
	units    []float64      // of each column, see columns.unit
	attachAt map[string]int // the column of each driver that has one
	crates   map[volumeKey]crate
	classes  []*class
	creeds   []*creed

	// What classes share, by its bytes.
	needs      map[string]*need
	labels     map[string]*alternatives
	tolerances map[string]*tolerance
	buf        []byte // to look them up with
	// lost are pods that got no node in an earlier attempt, and why; quotas are what others got.
	lost   map[string][]model.PoolVerdict
	quotas quotas
	// reluctant says that some pool or node has a taint that would rather have no pods.
	reluctant bool

	// What pods ask of each other.
	book    *topology.Book
	keys    []*domains
	groups  []*group
	groupAt map[groupKey]int
	byTerm  map[int][]int
	ports   []int // the groups of host ports
	bans    []ban
	// hands are the daemons that matter to somebody, warinesses what pods ask of them, by their bytes.
	hands      []*hand
	warinesses map[string]*wariness
	crews      map[crewKey][]crewman
	taken      foresight // for granted
	reach      [][]int   // by key, the domains that new nodes may be in
	pins       []int     // keys of which the domain of each new node is settled
	offers     []int     // keys that tell the offerings in which daemons run that keep others away
	doubted    []int     // keys of the domains that daemons may be kept out of by somebody who comes there
	vague      []bool    // by key, whether new nodes may get a value that is not known yet
	adrift     []bool    // by key, whether a node that is on its way may
	lacking    []bool    // by key, whether new nodes may lack the label

	// What exists.
	targets    []*target
	learned    map[string]map[string]int // by type and driver, how many volumes nodes that are there attach
	everywhere []*target                 // and nodes that are only counted
	moving     map[string]bool
	onTarget   map[int][]int8
	resident   []residence

	// What may be launched.
	shelves   []*shelf
	diverse   bool // some pool may take types of several domains for its minValues
	unusable  []model.PoolVerdict
	fits      map[fitKey]*fit
	flavourAt map[flavourKey]*flavour
	roomFor   [][]mask
	chosen    map[choiceKey][]*choice
	// certainty remembers which fits are of nodes that count for a group.
	certainty map[certainKey]int
	opening   map[openKey]bool // whether anybody may have a new node

	// shuffles says that pods which are on their way to a node may be sent to another, for a few have lost theirs.
	shuffles bool
	// placing is the class at work; bold says that nobody is waited for any more.
	placing *class
	bold    bool
	// late says that nodes have been opened, and that it is known what limits leave.
	late bool

	// What was decided.
	lots     []*lot
	madeLots store[lot]
	order    []step
	nodes    []*opened
	refused  []*model.Pod // by minValues, when their node was finished
	// whole waits for the floor for all pods of lots; nil if nobody looks for it.
	whole func() float64
}

// Solve returns where the pending pods of s go, with the pods of nodes that are on their way out.
func Solve(s *model.Snapshot, o Options) *model.Plan {
	pods := append(s.Pending(), s.Displaced()...)
	slices.SortFunc(pods, func(a, b *model.Pod) int { return strings.Compare(a.Key, b.Key) })
	pods = slices.CompactFunc(pods, func(a, b *model.Pod) bool { return a.Key == b.Key })
	pods, refused := exclude(s, o, pods)
	if len(pods) == 0 {
		return refuse(&model.Plan{}, refused)
	}
	return refuse(solveSlack(withRunnableDaemons(s), o.withDefaults(), pods), refused)
}

// solve is Solve for these pods, each once and in key order.
func solve(s *model.Snapshot, o Options, pods []*model.Pod) *model.Plan {
	a := &attempt{known: quotas{}}
	var best *attempt
	for n := 1; ; n++ {
		a.make(s, o, pods)
		if a.right && (best == nil || better(a.plan, best.plan)) {
			kept := *a
			best = &kept
		}
		learnt := n < maxSolves && a.learn(a.known)
		a.seen, a.pinned = a.next, a.pinned || len(a.wrong) > 0
		switch {
		case n < maxSolves && (learnt || len(a.wrong) > 0):
			continue
		case best != nil:
			best = enlarge(best, s, o, pods)
			return best.repair(best.plan)
		case n == 2*maxSolves:
			return a.plan
		}
		a.lose(n == 2*maxSolves-1)
	}
}

// lose has pods go without a place in the next attempt: those that got none, and of the classes that counted on other daemons
// than there are a few, in the last attempt all.
func (a *attempt) lose(last bool) {
	if a.lost == nil {
		a.lost = map[string][]model.PoolVerdict{}
	}
	for _, r := range a.plan.Refusals {
		for _, pod := range r.Pods {
			a.lost[pod.Key] = r.Reasons
		}
	}
	for _, c := range a.wrong {
		for _, pod := range c.lose(last) {
			a.lost[pod.Key] = mistaken
		}
	}
}

// missed reports whether pods that had their domain got no node after all, and others counted them: who went where they
// were to be, or spread around them, has to look again without them.
func (p *problem) missed() bool {
	if len(p.groups) == 0 {
		return false
	}
	if len(p.refused) > 0 {
		return true
	}
	return slices.ContainsFunc(p.lots, func(l *lot) bool {
		return l.left() > 0 && (len(l.class.members) > 0 || l.unit > 1)
	})
}

func newProblem(s *model.Snapshot, o Options, pods []*model.Pod, lost map[string][]model.PoolVerdict) *problem {
	p := &problem{
		snapshot: s, lost: lost, opts: o, cols: columnsOf(pods),
		needs: map[string]*need{}, labels: map[string]*alternatives{}, tolerances: map[string]*tolerance{},
		book: topology.NewBook(), groupAt: map[groupKey]int{}, byTerm: map[int][]int{},
		moving: map[string]bool{}, onTarget: map[int][]int8{},
		fits: map[fitKey]*fit{}, flavourAt: map[flavourKey]*flavour{}, chosen: map[choiceKey][]*choice{}, certainty: map[certainKey]int{}, opening: map[openKey]bool{},
	}
	p.order = make([]step, 0, len(pods))
	p.plain = len(p.cols)
	p.attachColumns(pods)
	for i := range p.cols {
		p.units = append(p.units, p.cols.unit(i))
	}
	p.keyOf(corev1.LabelHostname)
	for _, pod := range pods {
		if pod.Bound() {
			p.moving[pod.Key] = true
		}
	}
	p.reluctant = reluctant(s)
	pools := aside(p.compilePools)
	p.learnBans()
	p.learnHands()
	p.classify(pods)
	p.join()
	p.survey()
	p.census()
	pools()
	p.diverse = p.spanning()
	if p.plain < len(p.cols) {
		p.limitAttachments()
	}
	if o.Slack > 0 {
		p.leaveSlack()
	}
	p.closeHosts()
	p.muster()
	p.explore()
	return p
}

// reluctant reports whether some pool or node would rather have no pods.
func reluctant(s *model.Snapshot) bool {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	return slices.ContainsFunc(s.Pools(), func(p *model.Pool) bool { return slices.ContainsFunc(p.Taints, soft) }) ||
		slices.ContainsFunc(s.Nodes(), func(n *model.Node) bool { return slices.ContainsFunc(n.Taints, soft) })
}

// place settles, class by class and stage by stage, which pods go onto nodes there are, and in which domains the others get
// new ones. Pods that wait for others to come first have their turn again, until nobody moves.
func (p *problem) place() {
	for {
		moved := false
		for _, c := range p.classes {
			moved = p.placeClass(c) || moved
		}
		switch {
		case len(p.groups) == 0, !moved && p.bold:
			return
		case !moved:
			p.bold = true // whoever still waits for others waits in vain
		}
	}
}

// placeClass places what it can of c, and reports whether that was anything.
func (p *problem) placeClass(c *class) bool {
	if !c.refusal.OK() || c.why != nil {
		return false
	}
	p.placing = c
	all := c.left()
	for i := range c.stages {
		if c.left() > 0 {
			p.onTargets(c, &c.stages[i])
			if i == len(c.stages)-1 {
				p.makeRoom(c, &c.stages[i])
			}
			p.decide(c, &c.stages[i])
		}
	}
	return c.left() < all
}

// open opens nodes, tier by tier: all pools of the highest weight first, and among them by price alone. What their limits
// do not allow goes on to the next weight.
func (p *problem) open() {
	p.floorAhead()
	for from := 0; from < len(p.shelves); {
		to := from + 1
		for to < len(p.shelves) && p.shelves[to].pool.Weight == p.shelves[from].pool.Weight {
			to++
		}
		p.openTier(p.shelves[from:to])
		from = to
	}
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
