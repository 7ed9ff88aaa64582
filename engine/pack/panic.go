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
// The search keeps a set of pods for which a plan can be made, and tries to add groups of pods to it. At first, each
// namespace is a group. If a plan with several groups panics, each half of the groups is tried. If a plan with one
// namespace panics, its pods are grouped by owner, and each half of these groups is tried. If a plan with the pods of a
// single owner panics, they are refused. After maxIsolations plans, all groups of a plan that panics are refused.
func (c *checkedSolve) isolate(first Panic) {
	pods := slices.DeleteFunc(slices.Clone(c.pods), func(p *model.Pod) bool { return !c.out.Leave[p.Key].OK() })
	c.narrow(groupBy(pods, func(p *model.Pod) string { return p.Object.Namespace }), first)
}

// admit adds the groups to c.plannable if a plan with all of these pods does not panic. Otherwise narrow tries parts of the
// groups, or refuses their pods.
func (c *checkedSolve) admit(groups [][]*model.Pod) {
	tried := maps.Clone(c.plannable)
	for _, p := range slices.Concat(groups...) {
		tried[p.Key] = true
	}
	leave := maps.Clone(c.out.Leave)
	for _, p := range c.pods {
		if !tried[p.Key] && leave[p.Key].OK() {
			leave[p.Key] = internalError("not tried yet")
		}
	}
	c.isolations++
	if _, _, failed := c.try(leave); failed != nil {
		c.narrow(groups, *failed)
		return
	}
	c.plannable = tried
}

// narrow splits groups for which planning panicked, and tries to admit the parts. It refuses the pods of a single owner.
// After maxIsolations plans it refuses all groups.
func (c *checkedSolve) narrow(groups [][]*model.Pod, failed Panic) {
	if len(groups) == 1 {
		groups = groupBy(groups[0], ownerOf)
	}
	if len(groups) <= 1 || c.isolations >= maxIsolations {
		c.refuse(slices.Concat(groups...), failed)
		return
	}
	half := len(groups) / 2
	c.admit(groups[:half])
	c.admit(groups[half:])
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

// groupBy returns the pods grouped by the result of name, in rising order of that result.
func groupBy(pods []*model.Pod, name func(*model.Pod) string) [][]*model.Pod {
	groups := map[string][]*model.Pod{}
	for _, p := range pods {
		groups[name(p)] = append(groups[name(p)], p)
	}
	var out [][]*model.Pod
	for _, n := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, groups[n])
	}
	return out
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
