package pack

import (
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// maxIsolations is the number of plans after which isolate splits no more groups of pods.
const maxIsolations = 48

// A Panic is a panic of Solve or of verify, and the pods that were refused because of it.
type Panic struct {
	// Pods are in the order in which isolate found them, or in key order if all pods were refused.
	Pods []*model.Pod
	// Value is the text of the panic value. Stack lists the functions on the call stack, see compile.Stack.
	Value, Stack string
}

// Try is like Solve, and returns a nil Panic. If Solve panics, it returns a plan that refuses all pods, and the panic with
// all pods in Panic.Pods. It is for callers that do not search for the pods that cause a panic.
func Try(s *model.Snapshot, o Options) (*model.Plan, *Panic) {
	var plan *model.Plan
	failed := recovered(func() { plan = Solve(s, o) })
	if failed != nil {
		c := &checkedSolve{snapshot: s, options: o, pods: podsToPlan(s), out: Checked{Excluded: o.Excluded}}
		plan = c.refuseAll(nothingPlanned(*failed))
		failed.Pods = c.pods
	}
	return plan, failed
}

// recovered calls f. It returns the panic of f, nil if f does not panic.
func recovered(f func()) (failed *Panic) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *compile.WorkPanic: // of another goroutine
			failed = &Panic{Value: v.Value, Stack: v.Stack}
		default:
			failed = &Panic{Value: fmt.Sprint(v), Stack: compile.Stack("/pack.recovered")}
		}
	}()
	f()
	return nil
}

// panicReason returns the reason to refuse pods that cause the panic.
func panicReason(p Panic) string {
	return "planning failed with this pod, so it is left out: " + p.Value
}

// nothingPlanned returns the reason to refuse all pods because of the panic.
func nothingPlanned(p Panic) string { return "planning failed, so no pod is planned: " + p.Value }

// isolate finds the pods that cause a panic. It adds these pods to c.out.Excluded, and the panics because of which it refuses
// them to c.out.Panics. first is the panic of a plan with all pods except those in c.out.Excluded.
//
// The search keeps a set of pods for which a plan can be made, at first none, and tries to add groups of pods to it. Pods of one
// owner are a group. The groups are ordered by namespace and owner.
func (c *checkedSolve) isolate(first Panic) {
	c.excluded = maps.Clone(c.out.Excluded)
	byOwner := map[string][]*model.Pod{}
	for _, p := range c.pods {
		if c.excluded[p.Key].OK() {
			c.excluded[p.Key] = internalError("not tried yet")
			owner := p.Object.Namespace + " " + ownerOf(p)
			byOwner[owner] = append(byOwner[owner], p)
		}
	}
	var groups [][]*model.Pod
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		groups = append(groups, byOwner[owner])
	}
	c.narrow(groups, first)
}

// narrow tries to add each half of the groups to the plan, because planning panicked with all of them. It narrows down a half
// with which planning panics again. It refuses the pods of a single owner. After maxIsolations plans it refuses all groups.
func (c *checkedSolve) narrow(groups [][]*model.Pod, failed Panic) {
	if len(groups) <= 1 || c.isolations >= maxIsolations {
		c.excludePods(slices.Concat(groups...), failed)
		return
	}
	middle := len(groups) / 2
	for _, half := range [][][]*model.Pod{groups[:middle], groups[middle:]} {
		excluded := maps.Clone(c.excluded)
		for _, p := range slices.Concat(half...) {
			delete(excluded, p.Key)
		}
		c.isolations++
		if _, _, again := c.attempt(excluded); again != nil {
			c.narrow(half, *again)
		} else {
			c.excluded = excluded
		}
	}
}

// refuse refuses the pods because of the panic. It adds them to c.out.Excluded, and to the entry of the panic in c.out.Panics.
func (c *checkedSolve) excludePods(pods []*model.Pod, failed Panic) {
	for _, p := range pods {
		c.out.Excluded[p.Key] = internalError(panicReason(failed))
	}
	for n := range c.out.Panics {
		if known := &c.out.Panics[n]; known.Value == failed.Value && known.Stack == failed.Stack {
			known.Pods = append(known.Pods, pods...)
			return
		}
	}
	failed.Pods = pods
	c.out.Panics = append(c.out.Panics, failed)
}

// ownerOf returns a name for the controller or capacity buffer that made the pod, or the pod's key if there is neither.
func ownerOf(p *model.Pod) string {
	if owner := p.Owner(); owner != nil {
		return owner.Kind + "/" + owner.Name + "/" + string(owner.UID)
	}
	if p.Virtual() {
		return "CapacityBuffer/" + p.Buffer
	}
	return p.Key
}
