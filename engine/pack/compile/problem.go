package compile

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Problem is the input of the packing phases, compiled from a snapshot. After Compile only its caches change.
type Problem struct {
	Snapshot   *model.Snapshot
	Settings   catalog.Settings
	Dimensions *catalog.Dimensions
	Volumes    *catalog.Volumes
	Catalog    *catalog.Catalog
	Intern     *catalog.Interner
	// Classes are the classes of the pods to plan, in the order in which they are placed.
	Classes []*Class
	Keys    []*Key
	Groups  []*Group
	// Daemons[i] is the DaemonSet with index i in the snapshot. The list is empty if no group counts DaemonSet pods, and no
	// DaemonSet has required anti-affinity.
	Daemons []*Daemon
	// Nodes are the nodes that may take pods: initialized ones first, then the others, each by name. All is Nodes followed
	// by nodes that take no pods. Topology constraints count the pods on all of them. Without topology groups, All leaves out
	// nodes with an instance on which no pod fits.
	Nodes, All []*Node
	// Counts are how many pods each topology group counts in each domain before any pod to plan is placed.
	Counts *Counts
}

// A compiler builds a Problem. Fields other than Problem are used only by Compile.
type compiler struct {
	*Problem
	pods       []*model.Pod
	namespaces topology.Namespaces
	softTaints bool    // some pool or node has a PreferNoSchedule taint
	specs      []*Spec // the specs of the classes that are tried, without duplicates
	book       *topology.Book
	selecting  []int // buffer of groupsOf
	groupAt    map[groupKey]int
	// groupsByTerm[n] are the indices of the groups of term n in book, rising.
	groupsByTerm map[int][]int
	ports        portIndex // the groups of host ports
	// displaced has the keys of Snapshot.Displaced. These pods do not count on the node on which they still run.
	displaced map[string]bool
	// excluded[n] are the indices of the groups that required anti-affinity of pods on the node with name n selects.
	excluded map[string][]int
	daemons  map[string][]catalog.DaemonPod // results of daemonsOn, by an encoding of the node's taints and Registered
}

// Compile returns the problem of placing the pods, which are in key order without duplicates.
//
// Each step uses results of earlier ones. The first key is the hostname, because HostKey is 0. findExclusions and
// compileDaemons precede classify, which distinguishes pods by the labels that terms read. These three make the groups that
// linkSpecs uses. refuseForeignAffinity uses the results of linkSpecs. compileNodes uses the demands of all classes, and
// numbers the domains of nodes. setReach uses the catalog, and numbers the domains of new nodes. setCounts uses all domains and
// the results of markOnNewNodes. finishStages uses the groups, the domains of new nodes and the results of markOnNewNodes.
func Compile(s *model.Snapshot, o catalog.Settings, pods []*model.Pod) *Problem {
	d := catalog.NewDimensions(pods)
	c := &compiler{
		Problem: &Problem{
			Snapshot: s, Settings: o, Dimensions: d, Volumes: catalog.NewVolumes(s, d, pods), Intern: catalog.NewInterner(),
		},
		pods: pods, namespaces: namespaceIndex(s), softTaints: softTaints(s), book: topology.NewBook(),
		groupAt: map[groupKey]int{}, groupsByTerm: map[int][]int{}, displaced: map[string]bool{}, excluded: map[string][]int{},
		daemons: map[string][]catalog.DaemonPod{},
	}
	for _, pod := range s.Displaced() {
		c.displaced[pod.Key] = true
	}
	c.keyOf(corev1.LabelHostname)
	wait := Async(func() { c.Catalog = catalog.Compile(s, c.Volumes, o) })
	c.findExclusions()
	compileDaemons(c)
	classify(c)
	c.linkSpecs()
	refuseForeignAffinity(c)
	c.linkClasses()
	linkDaemons(c)
	compileNodes(c)
	wait()
	if o.Slack > 0 {
		var demands []*catalog.Demand
		for _, class := range c.Classes {
			demands = append(demands, class.Demand)
		}
		c.Catalog.LeaveSlack(o.Slack, demands)
	}
	c.setReach()
	markOnNewNodes(c)
	setCounts(c)
	finishStages(c)
	return c.Problem
}

// softTaints reports whether some pool or node has a PreferNoSchedule taint.
func softTaints(s *model.Snapshot) bool {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	return model.SoftlyTainted(s) || slices.ContainsFunc(s.Pools(), func(p *model.Pool) bool { return slices.ContainsFunc(p.Taints, soft) })
}
