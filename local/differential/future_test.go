package differential

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// throws is the number of random outcomes in which a node must be feasible before it counts as an opening.
const throws = 24

// opening returns an opening for the first pod of the refusal that exists in every outcome of the plan, nil if there is none. A
// plan cannot use a node that is feasible in some outcomes only. kube-scheduler or the next plan finds such a node later.
//
// The outcome of a plan is open in two respects. The cloud chooses one of the types and offerings of a claim, and thereby the
// zone. And pods that are being deleted end at an unknown time.
func (st *stage) opening(r model.Refusal) (*opening, error) {
	var left []opening
	narrow := func(first bool, w *world, err error) error {
		if err != nil {
			return err
		}
		old := left
		if first {
			old = nil
		}
		left, err = st.openings(w, r, old)
		return err
	}
	w, err := st.world(luck{})
	if err := narrow(true, w, err); err != nil || len(left) == 0 {
		return nil, err
	}
	w, err = st.world(luck{})
	if err == nil {
		w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	}
	if err := narrow(false, w, err); err != nil {
		return nil, err
	}
	for _, l := range st.lucks() {
		if len(left) == 0 {
			return nil, nil
		}
		w, err := st.world(l)
		if err := narrow(false, w, err); err != nil {
			return nil, err
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	return &left[0], nil
}

// openings returns the openings in w that are also in old, or all of them if old is nil. If the pods of the plan itself are not
// accepted in w, it returns old, because another test reports wrong plans.
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

// lucks returns choices of the cloud. They include every way to launch each claim, and a number of random combinations.
func (st *stage) lucks() []luck {
	most := 0
	for i := range st.plan.Nodes {
		n := &st.plan.Nodes[i]
		most = max(most, len(waysOf(n.Options, n.Requirements, true)))
	}
	for _, n := range st.snapshot.Nodes() {
		if !n.Launched() {
			most = max(most, len(waysOf(st.snapshot.Types(n.Pool), model.Wishes(st.snapshot, n), false)))
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
