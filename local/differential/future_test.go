package differential

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/karpenter-go/karpenter/engine/model"
)

// throws is how often dice decide what the cloud makes of claims before a place is taken to be open whatever it does.
const throws = 24

// opening looks for a place for the first pod of the refusal that is open in whatever way the plan comes true. A place that is
// open in some ways alone cannot be promised by anybody: the scheduler finds it once it is there, or the next plan does.
//
// What is left open by a plan is what the cloud makes of claims: a type and an offering of those that were asked for, and so the
// zone; and when, for with a node come its daemons' pods, and others may count them. Pods that are about to go may be gone by then. And
// DaemonSets' pods come in any order, to nodes that the scheduler offers to waiting pods at the same time: of two that keep each
// other off it is the first that stays.
func (st *stage) opening(r model.Refusal) (*opening, error) {
	w, err := st.world(luck{})
	if err != nil {
		return nil, err
	}
	left, err := st.openings(w, r, nil)
	if err != nil {
		return nil, err
	}
	narrow := func(w *world) error {
		left, err = st.openings(w, r, left)
		return err
	}
	if len(left) > 0 {
		slices.Reverse(w.daemons)
		if err := narrow(w); err != nil {
			return nil, err
		}
	}
	if len(left) > 0 {
		if w, err = st.world(luck{}); err != nil {
			return nil, err
		}
		if w.early, err = w.rivals(st.sched, st.plan, r); err != nil {
			return nil, err
		}
		if err := narrow(w); err != nil {
			return nil, err
		}
	}
	if len(left) > 0 {
		if w, err = st.world(luck{}); err != nil {
			return nil, err
		}
		w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
		if err := narrow(w); err != nil {
			return nil, err
		}
	}
	for _, l := range st.lucks() {
		if len(left) == 0 {
			return nil, nil
		}
		if w, err = st.world(l); err != nil {
			return nil, err
		}
		if err := narrow(w); err != nil {
			return nil, err
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	return &left[0], nil
}

// openings returns the places in w that are among those in old, if there are any. A future in which the plan's own pods find no place
// tells nothing: a wrong plan is reported by the other test.
func (st *stage) openings(w *world, r model.Refusal, old []opening) ([]opening, error) {
	if refused, err := w.inOrder(st.sched); err != nil || len(refused) > 0 {
		return old, err
	}
	found, err := w.openings(st.sched, st.plan, r)
	if err != nil || old == nil {
		return found, err
	}
	return common(old, found), nil
}

// lucks returns what the cloud may do, with every way of every claim, and a number of combinations.
func (st *stage) lucks() []luck {
	most := 0
	for i := range st.plan.Nodes {
		n := &st.plan.Nodes[i]
		most = max(most, len(waysOf(n.Options, n.Requirements, true)))
	}
	for _, n := range st.snapshot.Nodes() {
		if !n.Launched() {
			most = max(most, len(waysOf(st.snapshot.Types(n.Pool), n.Wishes(), false)))
		}
	}
	var out []luck
	for i := range most {
		out = append(out, luck{turn: i, all: true}, luck{turn: i})
	}
	for i := 0; i < throws && most > 1; i++ {
		out = append(out, luck{dice: rand.New(rand.NewPCG(uint64(i), 1)), all: i%2 == 0})
	}
	return out
}

// rivals returns the pods that go without a place because a daemon's pod keeps them off, where it is not yet: the scheduler
// may well have placed them before it comes, and then it is they who keep it off.
func (w *world) rivals(s *scheduler, plan *model.Plan, but model.Refusal) ([]*corev1.Pod, error) {
	pods, err := others(plan, but)
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return !w.keptOff(s, p) }), err
}

// others returns the pods that go without a place besides those of a refusal, as they wait to be scheduled.
func others(plan *model.Plan, but model.Refusal) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	for _, r := range plan.Refusals {
		if r.Pods[0] == but.Pods[0] {
			continue
		}
		for _, p := range r.Pods {
			pod, err := unbound(p)
			if err != nil {
				return nil, err
			}
			out = append(out, pod)
		}
	}
	return out, nil
}

// keptOff reports whether the pod would find a node if daemons' pods did not come before it, and are not in its way but for what
// they ask of each other.
func (w *world) keptOff(s *scheduler, pod *corev1.Pod) bool {
	return slices.ContainsFunc(w.nodes, func(n *corev1.Node) bool {
		s.set(w.nodes, w.pods)
		if s.judge(pod, n.Name) != nil {
			return false
		}
		s.employ(w.daemons)
		return s.judge(pod, n.Name).ofOthers()
	})
}

// ofOthers reports whether it is a refusal because of who else there is, and what they ask of each other.
func (r *refusal) ofOthers() bool {
	return r != nil && (slices.Contains(ofCluster, r.plugin) || r.plugin == names.NodePorts)
}

// outrun reports whether a new node, which is there without any pods, may turn out to be no place for the pod because of one of those
// that wait, too: a node is offered to waiting pods as soon as they tolerate its taints, and DaemonSets' pods are made only then. Who
// goes without a place because of a daemon's pod may come first, and keeps that off instead.
func (s *scheduler) outrun(pod *corev1.Pod, fresh *corev1.Node, residents, waiting []*corev1.Pod) (bool, error) {
	for _, p := range waiting {
		if s.judge(p, fresh.Name) != nil {
			continue
		}
		undo := s.mark()
		s.employ(residents)
		off := s.judge(p, fresh.Name).ofOthers()
		if err := undo(); err != nil {
			return false, err
		}
		if !off {
			continue // nobody is in its way, so it has a place
		}
		if err := s.bind(p, fresh.Name); err != nil {
			return false, err
		}
		s.employ(residents)
		lost := s.judge(pod, fresh.Name).ofOthers()
		if err := undo(); lost || err != nil {
			return lost, err
		}
	}
	return false, nil
}
