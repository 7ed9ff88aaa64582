package launchbackoff

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Observe returns st updated by the present pods and nodes. It must be called whenever pods appear or nodes are
// removed, and before Decide.
func Observe(st State, s *model.Snapshot) State {
	next := State{histories: make(map[types.UID]history, len(st.histories)), orphaned: expire(st.orphaned, s.Now)}
	var orphaned []history
	for uid, h := range st.histories {
		p, ok := s.Pods.Get(h.key)
		switch {
		case !ok || p.UID != uid || p.Terminal() || p.Terminating():
			h = h.withNode(s)
			h.goneAt = s.Now
			orphaned = append(orphaned, h)
			continue
		case p.Bound():
			h = h.withBinding(s, p)
			if !h.boundSince.IsZero() && s.Now.Sub(h.boundSince) >= settleTime {
				continue
			}
		case h.outdated(s, p):
			continue
		default:
			h.pod, h.boundSince = p.Object, time.Time{}
			h = h.withNode(s)
		}
		next.histories[uid] = h
	}
	slices.SortFunc(orphaned, func(a, b history) int { return strings.Compare(a.key, b.key) })
	for _, h := range orphaned {
		if owner := ownerOf(h.pod); owner != "" {
			next.orphaned[owner] = append(next.orphaned[owner], h)
		}
	}
	inherit(&next, s)
	return next
}

// withNode returns h with the facts about the claim's node that Decide needs. They are stored, because the node may be
// gone when Decide is called.
func (h history) withNode(s *model.Snapshot) history {
	n, ok := s.NodeByName(h.claim)
	if !ok || !n.Registered || len(n.Reschedulable()) > 0 {
		return h
	}
	h.emptied = h.emptied || removedForEmptiness(n)
	h.taint = untolerated(n, h.pod)
	return h
}

// withBinding returns h updated by the node to which the pod is bound.
func (h history) withBinding(s *model.Snapshot, p *model.Pod) history {
	n, ok := s.NodeByName(p.Object.Spec.NodeName)
	if !ok || n.Deleting || n.Disrupted() {
		h.boundSince = time.Time{}
		return h.withNode(s)
	}
	if h.boundSince.IsZero() {
		h.boundSince = s.Now
	}
	return h
}

// outdated reports whether, since the last launch, the spec of the pod has changed, or its pool has changed or is gone.
func (h history) outdated(s *model.Snapshot, p *model.Pod) bool {
	if p.Object != h.pod && !equality.Semantic.DeepEqual(p.Object.Spec, h.pod.Spec) {
		return true
	}
	pool, ok := s.Pool(h.pool.Name)
	return !ok || pool.Object.UID != h.pool.Object.UID || pool.Object.Generation != h.pool.Object.Generation
}

// expire returns the histories of the pods that were deleted at most retention ago.
func expire(orphaned map[types.UID][]history, now time.Time) map[types.UID][]history {
	kept := make(map[types.UID][]history, len(orphaned))
	for owner, all := range orphaned {
		for len(all) > 0 && now.Sub(all[0].goneAt) > retention {
			all = all[1:]
		}
		if len(all) > 0 {
			kept[owner] = slices.Clip(all) // so that an append does not change the slice of the former State
		}
	}
	return kept
}

// inherit gives each pending pod without a history the history of a deleted pod of the same owner. Each history is given
// to one pod only. The histories of the most recently deleted pods are given first.
func inherit(st *State, s *model.Snapshot) {
	if len(st.orphaned) == 0 {
		return
	}
	for _, p := range s.Pending() {
		owner := ownerOf(p.Object)
		all := st.orphaned[owner]
		if _, known := st.histories[p.UID]; known || len(all) == 0 {
			continue
		}
		h := all[len(all)-1]
		if st.orphaned[owner] = all[:len(all)-1]; len(all) == 1 {
			delete(st.orphaned, owner)
		}
		h.key, h.pod, h.inherited, h.boundSince = p.Key, p.Object, true, time.Time{}
		st.histories[p.UID] = h
	}
}

// ownerOf returns the UID of the pod's controller, empty if there is none.
func ownerOf(o *corev1.Pod) types.UID {
	p := model.Pod{Object: o}
	if owner := p.Owner(); owner != nil {
		return owner.UID
	}
	return ""
}

// removedForEmptiness reports whether the node is being removed because it is empty.
func removedForEmptiness(n *model.Node) bool {
	if n.Claim == nil {
		return false
	}
	why := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason)
	return why != nil && why.Reason == string(apiv1.DisruptionReasonEmpty) && (n.Deleting || n.Disrupted())
}

// untolerated returns the first taint that excludes the pod from the node, empty if there is none. Taints of Kubernetes
// and Karpenter are ignored: they mark a node that is unhealthy or being removed, not one that is unsuitable.
func untolerated(n *model.Node, o *corev1.Pod) string {
	own := slices.DeleteFunc(slices.Clone(n.Taints), func(t corev1.Taint) bool {
		return strings.HasPrefix(t.Key, "node.kubernetes.io/") || strings.HasPrefix(t.Key, "karpenter.sh/")
	})
	if t, refused := model.Untolerated(o.Spec.Tolerations, own); refused {
		return t.ToString()
	}
	return ""
}
