package pack

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
)

// maxIsolations is the number of plans after which isolate splits no more groups of pods.
const maxIsolations = 48

// A Panic is a panic of Solve or of verify, and the pods that were refused because of it.
type Panic struct {
	// Pods are in the order in which isolate found them, or in key order if all pods were refused.
	Pods []*model.Pod
	// Value is the text of the panic value. Stack lists the functions on the call stack, see stack.
	Value, Stack string
}

// Try is like Solve, and returns a nil Panic. If Solve panics, it returns a plan that refuses all pods, and the panic with
// all pods in Panic.Pods. It is for callers that do not search for the pods that cause a panic.
func Try(s *model.Snapshot, o Options) (*model.Plan, *Panic) {
	var plan *model.Plan
	failed := recovered(func() { plan = Solve(s, o) })
	if failed != nil {
		c := &checkedSolve{snapshot: s, options: o, pods: podsToPlan(s), out: Checked{Leave: o.Leave}}
		plan = c.refuseAll(panicReason(*failed))
		failed.Pods = c.pods
	}
	return plan, failed
}

// recovered calls f. It returns the panic of f, nil if f does not panic.
func recovered(f func()) (failed *Panic) {
	defer func() {
		if v := recover(); v != nil {
			failed = &Panic{Value: fmt.Sprint(v), Stack: stack()}
		}
	}()
	f()
	return nil
}

// stack returns the functions on the call stack, innermost first, down to the one that recovered called. It omits functions
// of package runtime, frames after the 64th, and the callers of recovered, so that the same panic always has the same
// stack.
func stack() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var b strings.Builder
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasSuffix(f.Function, "/pack.recovered") {
			break
		}
		if !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}

// panicReason returns the reason to refuse pods that cause the panic.
func panicReason(p Panic) string {
	return "planning failed with this pod, so the other pods are planned without it: " + p.Value
}

// isolate finds the pods that cause a panic. It adds these pods to c.out.Leave, and the panics because of which it refuses
// them to c.out.Panics. first is the panic of a plan with all pods except those in c.out.Leave.
//
// The search keeps a set of pods for which a plan can be made, at first none, and tries to add groups of pods to it. Pods of one
// owner are a group. The groups are ordered by namespace and owner.
func (c *checkedSolve) isolate(first Panic) {
	c.leave = maps.Clone(c.out.Leave)
	byOwner := map[string][]*model.Pod{}
	for _, p := range c.pods {
		if c.leave[p.Key].OK() {
			c.leave[p.Key] = internalError("not tried yet")
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
		c.refuse(slices.Concat(groups...), failed)
		return
	}
	middle := len(groups) / 2
	for _, half := range [][][]*model.Pod{groups[:middle], groups[middle:]} {
		leave := maps.Clone(c.leave)
		for _, p := range slices.Concat(half...) {
			delete(leave, p.Key)
		}
		c.isolations++
		if _, _, again := c.try(leave); again != nil {
			c.narrow(half, *again)
		} else {
			c.leave = leave
		}
	}
}

// refuse refuses the pods because of the panic. It adds them to c.out.Leave, and to the entry of the panic in c.out.Panics.
func (c *checkedSolve) refuse(pods []*model.Pod, failed Panic) {
	for _, p := range pods {
		c.out.Leave[p.Key] = internalError(panicReason(failed))
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
