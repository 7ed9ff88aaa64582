package methods

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// maxLaunches is the largest number of nodes that one decision launches for a static NodePool. So a typing error in
// spec.replicas does not exhaust memory. The next decision launches more.
const maxLaunches = 1000

// Scale brings each static NodePool to its number of replicas. Missing nodes are launched from the template, within the pool's
// limit of nodes, if the pool is ready. Surplus nodes are removed regardless of budgets, as in upstream Karpenter. Nodes in
// zones from which traffic is shifted away are not removed, and count as the surplus first, because no others can be launched
// there. Only pools in mode Auto are scaled.
func Scale(from *problem.State) (*problem.State, Scaling) {
	st, out := from.Clone(), Scaling{}
	for _, pool := range st.Problem.Snapshot.Pools() {
		if !pool.Static() || pool.Object.DeletionTimestamp != nil || pool.Mode(st.Problem.Options.Mode) != apiv1.ModeAuto {
			continue
		}
		replicas, m := int(*pool.Object.Spec.Replicas), membersOf(st, pool)
		switch missing := replicas - len(m.active) - m.pending; {
		case len(m.active) > replicas:
			surplus := len(m.active) - replicas
			removable := slices.DeleteFunc(slices.Clone(m.active), func(c *problem.Candidate) bool { return !st.Problem.MayTerminateInZone(c.Node).OK() })
			kept := len(m.active) - len(removable)
			for _, c := range sortForRemoval(st.Problem.Snapshot, removable)[:max(0, surplus-kept)] {
				st.Remove(c)
				out.Surplus = append(out.Surplus, c.Node)
			}
		case missing > 0:
			n, v := fromTemplate(st, pool)
			if !v.OK() {
				out.Short = append(out.Short, Shortfall{Pool: pool, Nodes: missing, Verdict: v})
				continue
			}
			more := min(missing, headroom(st, pool), maxLaunches)
			out.Launches = append(out.Launches, slices.Repeat([]model.PlannedNode{n}, more)...)
		}
	}
	return st, out
}

// A Scaling is what brings the static NodePools to their numbers of replicas. Its parts are in the order of the NodePools.
type Scaling struct {
	// Launches are the nodes to launch for NodePools with fewer nodes than replicas.
	Launches []model.PlannedNode
	// Surplus are the nodes to delete of NodePools with more.
	Surplus []*model.Node
	// Short are the NodePools whose missing nodes cannot be launched.
	Short []Shortfall
}

// A Shortfall says why a static NodePool has fewer nodes than replicas. It is not for NodePools that are at their limit of nodes.
type Shortfall struct {
	Pool *model.Pool
	// Nodes is the number of missing nodes, at least 1.
	Nodes int
	// Verdict is why none of them is launched.
	Verdict model.Verdict
}

// members are the nodes of a NodePool: active ones, and how many are being replaced (pending) and deleted. uncounted is the
// number of nodes being deleted for which budget.NodePools.Counts is false.
type members struct {
	active                       []*problem.Candidate
	pending, deleting, uncounted int
}

func membersOf(st *problem.State, pool *model.Pool) (m members) {
	for _, c := range st.Problem.Candidates {
		switch {
		case c.Node.Pool != pool.Name:
		case c.Node.Deleting:
			m.deleting++
			if !st.Budgets.Counts(c.Node) {
				m.uncounted++
			}
		case status.Disrupting(c.Node) || st.Removed(c):
			m.pending++
		default:
			m.active = append(m.active, c)
		}
	}
	return m
}

// headroom returns how many more nodes the pool's limit of nodes allows. Nodes that are being removed count until they are
// gone. Nodes that this decision launches count as well. Without a limit the result is the largest int.
func headroom(st *problem.State, pool *model.Pool) int {
	limit, ok := pool.Limits[model.Nodes]
	if !ok {
		return math.MaxInt
	}
	m := membersOf(st, pool)
	return max(0, int(limit)-len(m.active)-m.pending-m.deleting-st.Launching[pool.Name])
}

// fromTemplate returns a planned node without pods, from the template of the pool. The verdict is a refusal if the pool is
// not ready, if no instance type is available, or if those that are available have too few values for minValues and the options
// do not relax minValues.
func fromTemplate(st *problem.State, pool *model.Pool) (model.PlannedNode, model.Verdict) {
	if v := launchable(pool); !v.OK() {
		return model.PlannedNode{}, v
	}
	n := model.PlannedNode{Pool: pool, Requirements: pool.Requirements, Requests: model.Resources{}, Options: st.Types(pool)}
	if len(n.Options) == 0 {
		return n, model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf(
			"NodePool %q: no matching instance type has an available offering", pool.Name)}
	}
	n.Offering, _ = n.Options[0].Cheapest(pool.Requirements)
	pack := st.Problem.Options.Pack
	lacking := problem.LackingValues(n.Options, pool.Requirements)
	n.MinValuesRelaxed = lacking != "" && pack.RelaxMinValues
	if lacking != "" && !pack.RelaxMinValues {
		return n, model.Verdict{Rule: model.RuleMinValues, Key: lacking}
	}
	cheap := n.Options[:min(len(n.Options), pack.MaxTypes)]
	if n.MinValuesRelaxed || problem.LackingValues(cheap, pool.Requirements) == "" {
		n.Options = cheap
	}
	return n, model.Verdict{}
}

// replaceStatic accepts cmd as the command that replaces a node of a static NodePool by one from the pool's template.
// cmd has a reason. replaceStatic returns a refusal if that is not possible. If Options.TerminateFirst has the reason,
// the node may be terminated before its replacement is launched.
func replaceStatic(st *problem.State, c *problem.Candidate, cmd model.Command) model.Verdict {
	cmd.Method = "static"
	mayTerminate := mayTerminateFirst(st, cmd.Reason)
	full := headroom(st, c.Pool) < 1
	var v model.Verdict
	switch {
	case mayTerminate && st.OnlyFullReservations(c.Pool):
		cmd.TerminateFirst = model.TerminateFirstReservation
		if !st.Offered(c.Pool, st.Problem.ReservationOf(c)) {
			v = model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf(
				"all capacity reservations of NodePool %q are full, and the node runs in none of them", c.Pool.Name)}
		}
	case mayTerminate && full:
		cmd.TerminateFirst = model.TerminateFirstLimit
	case full:
		v = model.Verdict{Rule: model.RuleLimit, Resource: model.Nodes, By: 1}
	default:
		var n model.PlannedNode
		n, v = fromTemplate(st, c.Pool)
		cmd.Replacements, cmd.Saves = []model.PlannedNode{n}, c.Price-n.Price()
	}
	if v.OK() && cmd.TerminateFirst != "" {
		v = mayRefill(st, c, cmd.Reason)
	}
	if !v.OK() {
		return v
	}
	return st.Accept(cmd, c)
}

// replaceDueStatic is replaceStatic for a drifted or unhealthy node. It refuses if Options.Static is not set, and
// while the pool has surplus nodes, because these are removed first.
func replaceDueStatic(st *problem.State, c *problem.Candidate, cmd model.Command) model.Verdict {
	if !st.Problem.Options.Static {
		return model.Verdict{Rule: model.RulePolicy, Cause: model.CauseFeatureGate, Key: c.Pool.Name}
	}
	if len(membersOf(st, c.Pool).active) > int(*c.Pool.Object.Spec.Replicas) {
		return model.Verdict{Rule: model.RulePolicy, Cause: model.CauseSurplus, Key: c.Pool.Name}
	}
	return replaceStatic(st, c, cmd)
}

// sortForRemoval sorts the nodes of a static NodePool in the order in which surplus ones are removed. Claims without an
// instance come first, then empty nodes, nodes without do-not-disrupt pods, and all others. Within these, the order is
// by eviction cost times the remaining share of the lifetime, lowest first.
func sortForRemoval(s *model.Snapshot, nodes []*problem.Candidate) []*problem.Candidate {
	rank := func(c *problem.Candidate) int {
		switch {
		case !c.Node.Launched():
			return 0
		case status.ProtectedPod(c.Node, s.Now) != nil:
			return 3
		case len(c.Pods) > 0:
			return 2
		}
		return 1
	}
	lifetimeLeft := func(c *problem.Candidate) float64 {
		at, ok := model.ExpiresAt(c.Node.Claim)
		if !ok || *c.Node.Claim.Spec.ExpireAfter.Duration <= 0 {
			return 1
		}
		return min(max(at.Sub(s.Now).Seconds()/c.Node.Claim.Spec.ExpireAfter.Duration.Seconds(), 0), 1)
	}
	slices.SortFunc(nodes, func(a, b *problem.Candidate) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a.EvictionCost*lifetimeLeft(a), b.EvictionCost*lifetimeLeft(b)),
			strings.Compare(a.Node.Name, b.Node.Name),
		)
	})
	return nodes
}
