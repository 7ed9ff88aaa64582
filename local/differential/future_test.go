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
// zone; and when, for with a node come its daemons' pods, and others may count them. And DaemonSets' pods come in any order, to nodes that the scheduler offers to waiting pods at the same time: of two that
// keep each other off it is the first that stays.
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
			if w.keptOff(s, pod) {
				out = append(out, pod)
			}
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
		r := s.judge(pod, n.Name)
		return r != nil && (slices.Contains(ofCluster, r.plugin) || r.plugin == names.NodePorts)
	})
}
