package differential

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// throws is how often dice decide what the cloud makes of claims before a place is taken to be open whatever it does.
const throws = 24

// opening looks for a place for the first pod of the refusal that is open however the plan is carried out. A place that is open in
// some cases only cannot be promised: the scheduler finds it once it is there, or the next plan does.
//
// A plan leaves open what the cloud makes of claims: one of the types and offerings that a claim names, and so the zone. It also
// leaves open when pods end that are being deleted.
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

// openings returns the places in w that are among those in old, if there are any. A future in which the plan's own pods find no place
// is no failure: a wrong plan is reported by the other test.
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
