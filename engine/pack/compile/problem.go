package compile

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Problem is a snapshot made ready for packing. It is not modified after Compile.
type Problem struct {
	Snapshot   *model.Snapshot
	Settings   Settings
	Dimensions *catalog.Dimensions
	Volumes    *catalog.Volumes
	Catalog    *catalog.Catalog
	Intern     *catalog.Interner
	// Classes are the classes of the pending pods, in the order in which they are placed.
	Classes []*Class
	Keys    []*Key
	Groups  []*Group
	// Daemons are the DaemonSets of the snapshot, by index, nil for those that no constraint of a pending pod looks at and that
	// repel none; empty if there are no others.
	Daemons []*Daemon
	// Nodes take pods: initialized ones first, then by name. All are those and the nodes that only count for topology.
	Nodes, All []*Node
	// Counts are the pods that run already, by group and domain.
	Counts *Counts

	terms   termIndex
	filters filterTable
}

// Settings are the options of a plan that bear on what pods require.
type Settings struct {
	catalog.Settings
	// IgnorePreferences leaves preferred affinity and spread that may be ignored out of account.
	IgnorePreferences bool
	// Refuse holds the keys of pods that are refused unseen, with the reason.
	Refuse map[string]string
	// DefaultSpread returns the constraints of a pod that has none of its own; nil for none.
	DefaultSpread func(*model.Pod) []corev1.TopologySpreadConstraint
	// Slack is the share of cpu and memory of a new node that is left free.
	Slack float64
}

// A compiler is a Problem in the making, with what only compilation needs.
type compiler struct {
	*Problem
	pods       []*model.Pod
	namespaces topology.Namespaces
	softTaints bool // some pool or node has a PreferNoSchedule taint
	groupAt    map[groupKey]int
	repulsions []repulsion
	ports      []int // groups of host ports
	daemonsOn  daemonLists
}

// Compile returns the problem of placing the pods, which are in key order, each once.
func Compile(s *model.Snapshot, o Settings, pods []*model.Pod) *Problem {
	d := catalog.NewDimensions(pods)
	c := &compiler{
		Problem: &Problem{
			Snapshot: s, Settings: o, Dimensions: d, Volumes: catalog.NewVolumes(s, d, pods), Intern: catalog.NewInterner(d),
			terms: newTermIndex(pods), filters: filterTable{},
		},
		pods: pods, softTaints: softTaints(s), groupAt: map[groupKey]int{},
	}
	c.namespaces = namespaceIndex(s)
	c.keyOf(corev1.LabelHostname)
	wait := Aside(func() { c.Catalog = catalog.Compile(s, d, c.Volumes, o.Settings) })
	c.findRepulsions()
	readDaemons(c)
	classify(c)
	c.joinGroups()
	compileNodes(c)
	wait()
	if o.Slack > 0 {
		c.Catalog.LeaveSlack(o.Slack, c.demands())
	}
	c.findReach()
	watchDaemons(c)
	count(c)
	c.findStaticSpreads()
	finishStages(c)
	return c.Problem
}

// demands returns what the classes request, in their order.
func (c *compiler) demands() []*catalog.Demand {
	var out []*catalog.Demand
	for _, class := range c.Classes {
		out = append(out, class.Demand)
	}
	return out
}

// softTaints reports whether some pool or node has a PreferNoSchedule taint.
func softTaints(s *model.Snapshot) bool {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	return slices.ContainsFunc(s.Pools(), func(p *model.Pool) bool { return slices.ContainsFunc(p.Taints, soft) }) ||
		slices.ContainsFunc(s.Nodes(), func(n *model.Node) bool { return slices.ContainsFunc(n.Taints, soft) })
}

// Aside runs work beside the caller, which must call wait before it looks at the result. A panic becomes the caller's.
func Aside(work func()) (wait func()) {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		work()
	}()
	return func() {
		if failure := <-done; failure != nil {
			panic(failure)
		}
	}
}
