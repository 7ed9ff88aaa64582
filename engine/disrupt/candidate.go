package disrupt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A candidate is a node of ours with all that decisions ask of it, worked out once.
type candidate struct {
	node  *model.Node
	pool  *model.Pool // nil if it does not exist
	knobs knobs
	// price is what it costs in dollars per hour; priced is false if nobody knows.
	price  float64
	priced bool
	// pods come back elsewhere; cost is what moving them hurts, worth what they are worth at the best prices on offer.
	pods        []*model.Pod
	cost, worth float64
	// holds are the claims of its pods on disruption budgets, held why they can never be evicted.
	holds []hold
	held  model.Verdict
	// awaited says that pods are on their way to it, buffer which capacity buffer it keeps room for, empty if none.
	awaited bool
	buffer  string
	// done says that a command takes it; verdict is why it stays otherwise, firm that no other method knows better.
	done, firm bool
	verdict    model.Verdict
}

// A decider is one decision at work.
type decider struct {
	s   *model.Snapshot
	o   Options
	now time.Time
	// base is the cluster as the commands so far will leave it; view is base without the nodes that consolidation must not
	// put pods on, nil while nobody needs it.
	base, view *model.Snapshot
	// shut are the candidates that take no pods in view, because they are about to be replaced.
	shut []*candidate
	// movable are the candidates that consolidation may take.
	movable map[*candidate]bool
	budgets *Budgets
	guards  *guards
	types   map[string]map[string]*model.InstanceType
	// drawn are the types of pools once reservations are drawn on, nil while none is.
	drawn map[string][]*model.InstanceType
	// ours are the nodes of our pools in name order.
	ours   []*candidate
	byName map[string]*candidate
	landed int
	chosen int // nodes taken by choice
	// telling says that all that is decided from now on is told, and not done.
	telling bool
	// wide takes nodes along that would stay idle (widen), whole begins with all candidates in one set; idle says that some would stay
	// idle, and that there are few enough candidates to decide more than once. net is what consolidation comes to, in dollars.
	wide, whole, idle bool
	net               float64
	// omit names the types that are not on offer for now.
	omit []string
	// gathers says that nodes wait for others to come to rest.
	gathers bool
	// thorough asks about every node in the whole cluster, without a sketch first.
	thorough bool
	tariff   tariff
	out      Decision
}

func newDecider(s *model.Snapshot, o Options, from Cursor) *decider {
	d := &decider{
		s: s, o: o, now: s.Now, budgets: budgetsOf(s, o.Rehearse), guards: newGuards(s),
		types: map[string]map[string]*model.InstanceType{}, byName: map[string]*candidate{},
	}
	d.out.Cursor = from
	d.out.Stats.Eligible = map[apiv1.DisruptionReason]int{}
	for _, p := range s.Pools() {
		d.types[p.Name] = map[string]*model.InstanceType{}
		for _, t := range s.Types(p.Name) {
			d.types[p.Name][t.Name] = t
		}
	}
	for _, n := range s.Nodes() {
		if n.Pool == "" || !n.Managed() && !o.Rehearse {
			continue
		}
		c := d.candidate(n)
		d.ours = append(d.ours, c)
		d.byName[n.Name] = c
	}
	slices.SortFunc(d.ours, func(a, b *candidate) int { return strings.Compare(a.node.Name, b.node.Name) })
	d.settle()
	d.appraise()
	return d
}

func (d *decider) candidate(n *model.Node) *candidate {
	c := &candidate{node: n, pods: n.Reschedulable()}
	c.pool, _ = d.s.Pool(n.Pool)
	if c.pool != nil {
		c.knobs = knobsOf(c.pool)
	}
	if o, ok := d.offering(n); ok {
		c.price, c.priced = o.Price, true
	}
	c.cost = moveCost(c.pods)
	c.holds, c.held = d.guards.holds(n.Pods)
	if n.Deleting || underWay(n) {
		d.guards.underWay(c.holds)
	}
	return c
}

// offering returns how the node was bought.
func (d *decider) offering(n *model.Node) (model.Offering, bool) {
	t := d.types[n.Pool][n.Labels[corev1.LabelInstanceTypeStable]]
	if t == nil {
		return model.Offering{}, false
	}
	return t.OfferingOf(n)
}

// Price returns what n costs, in dollars per hour, by the instance types of its pool; zero if they do not tell.
func Price(s *model.Snapshot, n *model.Node) float64 {
	price, _ := s.Price(n)
	return price
}

// underWay reports whether somebody has begun to disrupt the node.
func underWay(n *model.Node) bool {
	return n.Disrupted() || n.Claim != nil && condition.IsTrue(n.Claim, apiv1.ConditionTypeDisruptionReason)
}

func (d *decider) initialized(n *model.Node) bool {
	return n.Initialized || d.o.Rehearse && n.Object != nil
}

// consolidatable reports whether the node has been quiet for as long as its pool wants.
func (d *decider) consolidatable(c *candidate) bool {
	if d.o.Rehearse {
		return true
	}
	return c.node.Claim != nil && condition.IsTrue(c.node.Claim, apiv1.ConditionTypeConsolidatable)
}

// open returns the candidates that nothing has taken yet and that may go for the reason, or may only be told of, whichever
// it is the turn of.
func (d *decider) open(reason apiv1.DisruptionReason) []*candidate {
	return slices.DeleteFunc(slices.Clone(d.ours), func(c *candidate) bool {
		return c.done || d.heldBack(c, reason) != d.telling
	})
}

// note keeps the verdict of a method that may take the node or not; one that comes later knows better.
func (d *decider) note(c *candidate, v model.Verdict) {
	if !c.firm {
		c.verdict = v
	}
}

// insist keeps the verdict of a method that would take the node if it could: it is due, and price is beside the point.
func (d *decider) insist(c *candidate, v model.Verdict) { c.verdict, c.firm = v, true }

// barred is a yes if the node may be disrupted by choice, its pods aside.
func (d *decider) barred(c *candidate) model.Verdict {
	n := c.node
	switch {
	case n.Deleting || underWay(n):
		return model.Verdict{Rule: model.RuleDisrupted}
	case !d.initialized(n):
		return model.Verdict{Rule: model.RuleNotReady}
	case c.pool == nil:
		return model.Verdict{Rule: model.RulePolicy, Subject: "its NodePool does not exist"}
	case d.o.Paused:
		return model.Verdict{Rule: model.RulePolicy, Subject: "disruption is paused"}
	case c.pool.Object.Annotations[apiv1.PauseAnnotationKey] == "true":
		return model.Verdict{Rule: model.RulePolicy, Subject: "disruption of its NodePool is paused"}
	case n.Object != nil && n.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true":
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "the node"}
	case d.o.Resting[n.Name]:
		return model.Verdict{Rule: model.RulePolicy, Subject: "its disruption was taken back a short while ago"}
	}
	return model.Verdict{}
}

// awaited is a yes if no pods are on their way to the node.
func (d *decider) awaited(c *candidate) model.Verdict {
	if c.awaited {
		return model.Verdict{Rule: model.RuleNominated}
	}
	return model.Verdict{}
}

// holdsPods is a yes if the pods let their node go: none asks not to be disrupted, and no disruption budget is spent.
// Drift (eventual) does not ask them where the claim has a terminationGracePeriod, because then they go in the end anyway.
func (d *decider) holdsPods(c *candidate, eventual bool) model.Verdict {
	if eventual && graceful(c) {
		return model.Verdict{}
	}
	for _, p := range c.node.Pods {
		if active, _, _ := drain.DoNotDisrupt(p.Object, d.now); active && !p.Terminating() {
			return model.Verdict{Rule: model.RuleAnnotation, Subject: "pod " + p.Key}
		}
	}
	if !c.held.OK() {
		return c.held
	}
	return d.guards.allowAtFirst(c.holds)
}

// graceful reports whether the node ends by a deadline whatever its pods say.
func graceful(c *candidate) bool {
	return c.node.Claim != nil && c.node.Claim.Spec.TerminationGracePeriod != nil
}

// affords is a yes if the budgets of the set's pools, the disruption budgets of its pods and the bound of one decision
// allow all of it, beside what was taken before.
func (d *decider) affords(set []*candidate, reason apiv1.DisruptionReason) model.Verdict {
	if !d.within(d.chosen + len(set)) {
		return model.Verdict{Rule: model.RulePolicy, Subject: "as many nodes as are allowed a minute were disrupted"}
	}
	if v := d.budgets.room(set, reason); !v.OK() {
		return v
	}
	return d.guardsAllow(set, reason)
}

// within reports whether n nodes are within the bound of one decision.
func (d *decider) within(n int) bool { return d.o.MaxNodes == 0 || n <= d.o.MaxNodes }

// take counts the set against all that affords looks at, all or none.
func (d *decider) take(set []*candidate, reason apiv1.DisruptionReason) model.Verdict {
	if v := d.affords(set, reason); !v.OK() {
		return v
	}
	for _, c := range set {
		if v := d.budgets.Take(c.node.Pool, reason); !v.OK() {
			return v
		}
		d.guards.take(c.holds)
	}
	d.chosen += len(set)
	return model.Verdict{}
}

// room is a yes if the budgets allow all of the set.
func (b *Budgets) room(set []*candidate, reason apiv1.DisruptionReason) model.Verdict {
	want := map[string]int{}
	for _, c := range set {
		want[c.node.Pool]++
	}
	for _, c := range set {
		a := b.pools[c.node.Pool]
		if a == nil {
			return model.Verdict{Rule: model.RulePolicy, Subject: fmt.Sprintf("NodePool %q does not exist", c.node.Pool)}
		}
		if a.Left(reason) < want[c.node.Pool] {
			return model.Verdict{Rule: model.RuleBudget, Subject: fmt.Sprintf("%q of pool %s", a.Names[reason], c.node.Pool)}
		}
	}
	return model.Verdict{}
}

// eligible notes how many nodes a reason could take.
func (d *decider) eligible(reason apiv1.DisruptionReason, n int) { d.out.Stats.Eligible[reason] += n }

// sum adds up f over the set.
func sum(set []*candidate, f func(*candidate) float64) float64 {
	total := 0.0
	for _, c := range set {
		total += f(c)
	}
	return total
}

func price(c *candidate) float64 { return c.price }

// tiny is what counts as no money.
const tiny = 1e-9
