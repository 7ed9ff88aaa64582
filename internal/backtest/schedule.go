package backtest

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// retry is the time after which a pod that a plan refused is planned again.
const retry = 5 * time.Minute

// schedule binds waiting pods. A pod with a planned node waits until that node has joined, and is bound to it if it fits.
// Another pod is bound to the node with the best score (see best) if only resources and taints decide where the pod may
// run, and if the pod is new or capacity was freed since the last call. The remaining pods are left to the next plan.
func (w *world) schedule() {
	var kept []*pod
	for _, p := range w.waiting {
		if n := w.byName[w.promises[p.key]]; n != nil && n.status == stays {
			if !n.joined {
				kept = append(kept, p)
				continue
			}
			if n.fits(p) {
				w.bind(p, n)
				continue
			}
		}
		delete(w.promises, p.key)
		if p.shape.plain && (p.fresh || w.state.freed) {
			if n := w.best(p); n != nil {
				w.bind(p, n)
				continue
			}
		}
		p.fresh = false
		kept = append(kept, p)
	}
	w.waiting, w.state.freed = kept, false
}

// fits reports whether the node has room for the pod.
func (n *node) fits(p *pod) bool {
	for name, v := range p.shape.requests {
		if v > n.free[name] {
			return false
		}
	}
	return true
}

// best returns the node with the highest score, nil if there is none, among the joined and unmarked nodes that have room
// for the pod and whose taints it tolerates. Of equal scores, it returns the node that was launched first.
func (w *world) best(p *pod) (found *node) {
	most := math.Inf(-1)
	for _, n := range w.nodes {
		if !n.joined || n.status != stays || !n.fits(p) || !tolerates(p.shape.template, n.object) {
			continue
		}
		if v := n.score(p); v > most {
			found, most = n, v
		}
	}
	return found
}

func tolerates(p *corev1.Pod, n *corev1.Node) bool {
	_, untolerated := model.Untolerated(p.Spec.Tolerations, n.Spec.Taints)
	return !untolerated
}

// score returns the sum of kube-scheduler's scores LeastAllocated and BalancedAllocation for cpu and memory.
func (n *node) score(p *pod) float64 {
	used := func(name corev1.ResourceName) float64 {
		if n.room[name] <= 0 {
			return 1
		}
		return float64(n.room[name]-n.free[name]+p.shape.requests[name]) / float64(n.room[name])
	}
	cpu, memory := used(corev1.ResourceCPU), used(corev1.ResourceMemory)
	return 100*(1-(cpu+memory)/2) + 100*(1-math.Abs(cpu-memory)/2)
}

// provision makes a plan and launches its nodes, if a waiting pod without a planned node was not refused by any plan yet,
// or was refused at least retry ago. boot is the time from the launch of a node until it joins.
func (w *world) provision(boot time.Duration) {
	due := false
	for _, p := range w.waiting {
		if w.promises[p.key] == "" && (p.refused == 0 || w.now-p.refused >= retry.Milliseconds()) {
			due = true
			break
		}
	}
	if !due {
		return
	}
	plan, err := w.planner.Plan(w.look())
	if err != nil {
		w.err = err
		return
	}
	for i := range plan.Nodes {
		n := w.launch(&plan.Nodes[i], boot)
		w.promise(n.name, plan.Nodes[i].Pods)
	}
	for _, p := range plan.Placements {
		w.promise(p.Node.Name, p.Pods)
	}
	for _, r := range plan.Refusals {
		for _, p := range r.Pods {
			if p := w.live[p.Key]; p != nil {
				p.refused = w.now
			}
		}
	}
	if len(plan.Placements) > 0 || boot == 0 {
		w.join()
		w.schedule()
	}
}

func (w *world) promise(to string, pods []*model.Pod) {
	for _, m := range pods {
		if p := w.live[m.Key]; p != nil && p.node == nil {
			p.refused = 0
		}
		w.promises[m.Key] = to
	}
}
