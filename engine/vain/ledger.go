package vain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// First is the pause after the first launch in vain, Longest the longest one. Each is twice the one before.
	First   = 10 * time.Second
	Longest = 5 * time.Minute
	// settled is how long a pod runs undisturbed until its past is forgotten.
	settled = time.Minute
	// mourned is how long the past of a pod that is gone waits for a successor.
	mourned = 2 * Longest
)

// Pause returns how long to wait after so many launches in vain, in a row.
func Pause(times int) time.Duration {
	if times <= 0 {
		return 0
	}
	pause := First
	for ; times > 1 && pause < Longest; times-- {
		pause *= 2
	}
	return min(pause, Longest)
}

// A Ledger remembers what was launched for which pods and what became of it. The zero Ledger is empty and ready to use. It is
// not safe for concurrent use.
type Ledger struct {
	// records are those of pods that exist, by UID.
	records map[types.UID]*record
	// heirless are those of pods that are gone, by the UID of their owner, in the order in which they went.
	heirless map[types.UID][]*record
}

// A record is the past of one pod.
type record struct {
	// key is the pod's, pod what it asked for when the last launch was made for it.
	key string
	pod *corev1.Pod
	// claim is the last launch of which it is not known yet what came of it, empty for none; pool is the pool that made it,
	// as it was.
	claim string
	pool  *model.Pool
	// emptied says that the claim's node was seen to be removed for being empty, while the pod waited; refused is the taint
	// by which it was seen to keep the pod away, empty for none.
	emptied bool
	refused string
	// inherited says that the claim was made for another pod, which may have run there.
	inherited bool
	// bound is since when the pod has been bound to a node that stays; zero while it is not.
	bound time.Time
	// times is how many launches in a row were in vain, why what was wrong with the last, until when the pod waits.
	times int
	why   string
	until time.Time
	// gone is when the pod was found to be gone.
	gone time.Time
}

// Launched notes that the claim was made for the pods.
func (l *Ledger) Launched(claim string, pool *model.Pool, pods []*model.Pod) {
	if l.records == nil {
		l.records, l.heirless = map[types.UID]*record{}, map[types.UID][]*record{}
	}
	for _, p := range pods {
		r := l.records[p.UID]
		if r == nil {
			r = &record{}
			l.records[p.UID] = r
		}
		r.key, r.pod, r.claim, r.pool = p.Key, p.Object, claim, pool
		r.emptied, r.refused, r.inherited, r.bound = false, "", false, time.Time{}
	}
}

// See takes in what has become of pods and nodes. It is to be called whenever pods have come or nodes go, and before Judge:
// what is not seen is not counted.
func (l *Ledger) See(s *model.Snapshot) {
	for uid, r := range l.records {
		p, ok := s.Pod(r.key)
		switch {
		case !ok || p.UID != uid || p.Terminal() || p.Terminating():
			delete(l.records, uid)
			r.look(s)
			l.bury(r, s.Now)
		case p.Bound():
			if r.runs(s, p) {
				delete(l.records, uid)
			}
		case r.changed(s, p):
			delete(l.records, uid)
		default:
			r.bound = time.Time{}
			r.look(s)
		}
	}
	l.inherit(s)
}

// look takes in what can be seen of the claim's node, which may be gone when it is asked for.
func (r *record) look(s *model.Snapshot) {
	n, ok := s.NodeByName(r.claim)
	if !ok || !n.Registered || len(n.Reschedulable()) > 0 {
		return
	}
	r.emptied = r.emptied || emptied(n)
	r.refused = refusal(n, r.pod)
}

// runs takes in that the pod is bound, and reports whether it has been for long enough.
func (r *record) runs(s *model.Snapshot, p *model.Pod) bool {
	n, ok := s.NodeByName(p.Object.Spec.NodeName)
	if !ok || n.Deleting || n.Disrupted() {
		r.bound = time.Time{}
		r.look(s)
		return false
	}
	if r.bound.IsZero() {
		r.bound = s.Now
	}
	return s.Now.Sub(r.bound) >= settled
}

// changed reports whether the pod, or its pool, asks for something else than when the last launch was made.
func (r *record) changed(s *model.Snapshot, p *model.Pod) bool {
	if p.Object != r.pod && !equality.Semantic.DeepEqual(p.Object.Spec, r.pod.Spec) {
		return true
	}
	r.pod = p.Object // what is the same need not be compared again
	pool, ok := s.Pool(r.pool.Name)
	return !ok || pool.Object.UID != r.pool.Object.UID || pool.Object.Generation != r.pool.Object.Generation
}

// bury keeps the past of a pod that is gone for its successor.
func (l *Ledger) bury(r *record, now time.Time) {
	if owner := ownerOf(r.pod); owner != "" {
		r.gone = now
		l.heirless[owner] = append(l.heirless[owner], r)
	}
}

// inherit gives pods that wait and have no past that of a pod of their owner which is gone: each past goes to one pod.
func (l *Ledger) inherit(s *model.Snapshot) {
	for owner, all := range l.heirless {
		for len(all) > 0 && s.Now.Sub(all[0].gone) > mourned {
			all = all[1:]
		}
		l.heirless[owner] = all
		if len(all) == 0 {
			delete(l.heirless, owner)
		}
	}
	if len(l.heirless) == 0 {
		return
	}
	for _, p := range s.Pending() {
		owner := ownerOf(p.Object)
		all := l.heirless[owner]
		if len(all) == 0 || l.records[p.UID] != nil {
			continue
		}
		r := all[len(all)-1]
		l.heirless[owner] = all[:len(all)-1]
		r.key, r.pod, r.inherited, r.bound = p.Key, p.Object, true, time.Time{}
		l.records[p.UID] = r
	}
}

// ownerOf returns the UID of what made the pod and will make another, empty for nothing.
func ownerOf(o *corev1.Pod) types.UID {
	p := model.Pod{Object: o}
	if owner := p.Owner(); owner != nil {
		return owner.UID
	}
	return ""
}
