package problem

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/require"
)

// initialState returns the State before any command: the cluster after everything in progress is finished.
//
// Pending pods and pods of nodes that are being removed are placed first, also on claims whose nodes have not joined. Pods
// without a place on nodes and claims that exist are omitted from what-ifs. Nodes planned for pending pods use up capacity
// reservations. Nodes that are being removed stay with the pods that do not move, because topology constraints count these,
// and because the nodes count against limits until they are gone.
//
// After that, nodes that are not initialized, that are being rebooted, that expire or that have drifted receive no further pods
// in what-ifs, so that no pod moves twice. Surplus replacements of commands that were rolled back do receive them
// (status.Surplus).
func (p *Problem) initialState() *State {
	st := &State{
		Problem: p, Budgets: budget.Of(p.Snapshot, p.Options.Simulate), nodes: make([]nodeState, len(p.Candidates)),
		Launching: map[string]int{}, Starting: map[string]int{}, Stats: Stats{Eligible: map[apiv1.DisruptionReason]int{}, Headroom: map[string]model.Resources{}},
	}
	s := p.Snapshot.Apply(model.Delta{Claims: status.MarkedAsDeleted(p.Snapshot)})
	var planned []model.PlannedNode
	if len(s.Pending())+len(s.Displaced()) > 0 {
		plan, failed := pack.Try(s, p.Options.Pack)
		if failed != nil { // only the pods that make the packer panic are omitted
			checked := pack.SolveChecked(s, p.Options.Pack)
			plan, st.Stats.Panics = checked.Plan, checked.Panics
		}
		st.Expected, planned = plan.Placements, plan.Nodes
	}
	st.countStarting(planned)
	st.markTargets(st.Expected)
	st.markAssigned()
	s = s.Apply(displaced(s)).Bound(st.Expected).WithoutPending()
	st.Cluster = s.Close(func(n *model.Node) bool {
		return !p.Initialized(n) && !status.Surplus(s, n) || n.Rebooting() || p.replacedSoon(n)
	})
	st.Cluster = st.Cluster.Apply(model.Delta{Types: typesAfter(st.Cluster, planned)})
	st.Cluster = st.Cluster.Apply(model.Delta{Types: withoutUnitsInUse(st.Cluster, planned)})
	return st
}

// countStarting counts, by NodePool, the candidates that are neither initialized nor being deleted, and the nodes planned for
// pending pods.
func (st *State) countStarting(planned []model.PlannedNode) {
	for _, c := range st.Problem.Candidates {
		if !c.Node.Deleting && !st.Problem.Initialized(c.Node) {
			st.Starting[c.Node.Pool]++
		}
	}
	for i := range planned {
		st.Starting[planned[i].Pool.Name]++
	}
}

// markTargets sets the field incoming of each candidate onto which a pod is placed. For a virtual pod of a CapacityBuffer it sets
// the field buffer instead, and adds the requests of the pod to Stats.Headroom. A candidate with only virtual pods is not
// removed as empty. It may be replaced, because virtual pods move as well.
func (st *State) markTargets(placements []model.Placement) {
	for _, pl := range placements {
		c := st.Problem.Candidate(pl.Node)
		if c == nil {
			continue
		}
		for _, pod := range pl.Pods {
			if pod.Virtual() {
				st.nodes[c.index].buffer = pod.Buffer
				st.Stats.Headroom[pl.Node.Name] = st.Stats.Headroom[pl.Node.Name].Plus(pod.Requests)
			} else {
				st.nodes[c.index].incoming = true
			}
		}
	}
}

// markAssigned sets the field incoming of each candidate with room for a pod that was assigned to it earlier, once
// terminating pods are gone, and of each replacement whose replaced claim still exists. Other assignments are in Expected or
// out of date.
func (st *State) markAssigned() {
	freeing := status.Freeing(st.Problem.Snapshot)
	for _, c := range st.Problem.Candidates {
		if freeing[c.Node.Name] || status.ReplacesExisting(st.Problem.Snapshot, c.Node) {
			st.nodes[c.index].incoming = true
		}
	}
}

// displaced returns the change that removes the displaced pods of s. These do not include pods that must not be evicted (see
// Snapshot.Displaced).
func displaced(s *model.Snapshot) model.Delta {
	var change model.Delta
	for _, pod := range s.Displaced() {
		change.Gone = append(change.Gone, model.Ref{Kind: model.KindPod, Key: pod.Key})
	}
	return change
}

// without returns cluster without the nodes. Those of NodePools with limits stay, without pods and with a deletion timestamp, so
// that they count against the limits until they are gone.
func (p *Problem) without(cluster *model.Snapshot, nodes []*model.Node) *model.Snapshot {
	var counted model.Delta
	for _, n := range nodes {
		if pool, ok := cluster.Pool(n.Pool); !ok || len(pool.Limits) == 0 {
			continue
		}
		if n.Object != nil {
			o := *n.Object
			o.DeletionTimestamp = &metav1.Time{Time: p.Snapshot.Now}
			counted.Nodes = append(counted.Nodes, &o)
		}
		if n.Claim != nil {
			counted.Claims = append(counted.Claims, status.Deleted(p.Snapshot.Now, n)...)
		}
	}
	return cluster.Without(nodes...).Apply(counted)
}

// replacedSoon reports whether the node will be replaced because it expires or has drifted.
func (p *Problem) replacedSoon(n *model.Node) bool {
	at, expires := status.ReplaceAt(n.Claim)
	return expires && !p.Snapshot.Now.Before(at) || n.Claim != nil && condition.IsTrue(n.Claim, apiv1.ConditionTypeDrifted)
}

// Types returns the instance types that the NodePool may launch, cheapest first. Capacity reservations used up by commands are
// not available.
func (st *State) Types(pool *model.Pool) []*model.InstanceType {
	var types []*model.InstanceType
	for t := range model.Launchable(st.Cluster.Types(pool.Name), pool.Requirements) {
		types = append(types, t)
	}
	SortByPrice(types, pool.Requirements)
	return types
}

// LackingValues returns the first label of which the types have fewer values than its minValues, empty if there is none.
func LackingValues(types []*model.InstanceType, reqs require.Set) string {
	for r := range reqs.All() {
		if r.MinValues() > 0 && model.Distinct(types, r, reqs) < r.MinValues() {
			return r.Key()
		}
	}
	return ""
}
