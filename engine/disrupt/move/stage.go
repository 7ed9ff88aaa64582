package move

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Stage is the state of the staged moves in a cluster. Opening a reserved node means removing its taint.
type Stage struct {
	// Next are the reserved nodes to open when Moving is empty, in the order of their ranks. There are several only if all
	// their pods belong to one ReplicaSet. There are none if no node that is being deleted has pods for a reserved node.
	Next []*model.Node
	// Moving are the pods of nodes that are being deleted, except terminating ones, whose destination is open or unknown.
	// Pods that no scheduler has tried yet are included, because they may replace evicted pods. Moving is empty if Next is.
	Moving []*model.Pod
	// Due are nodes to open immediately, in name order, because no disrupted node has pods for them or pending pods need
	// them. A node without the taint is included if its claim still has the annotation ReceivesPodsFromAnnotationKey.
	Due []*model.Node
}

// StageOf returns the state of the staged moves. Snapshot.TargetOf is the destination of a pod.
func StageOf(s *model.Snapshot) Stage {
	var st Stage
	needed := neededNow(s)
	var reserved []*model.Node
	for _, n := range s.Nodes() {
		disrupted, deleted := sourceState(s, n)
		switch {
		case n.Deleting || !n.Reserved() && (n.Object == nil || len(status.TakesFrom(n)) == 0):
		case needed[n.Name] || !disrupted:
			st.Due = append(st.Due, n)
		case n.Reserved() && deleted:
			reserved = append(reserved, n)
		}
	}
	slices.SortFunc(st.Due, func(a, b *model.Node) int { return strings.Compare(a.Name, b.Name) })
	if len(reserved) == 0 {
		return st
	}
	slices.SortFunc(reserved, func(a, b *model.Node) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), slices.Compare(sourceClaims(a), sourceClaims(b)), strings.Compare(a.Name, b.Name))
	})
	st.Next = withSamePods(s, reserved)
	for _, n := range s.Nodes() {
		if !n.Managed() || !n.Deleting {
			continue
		}
		for _, p := range n.Reschedulable() {
			if p.Object.DeletionTimestamp == nil && !AwaitsOpening(s, p) {
				st.Moving = append(st.Moving, p)
			}
		}
	}
	for _, p := range s.Pods.Values() {
		if p.Unjudged() && !p.Virtual() && model.ByDefault(p.Object) {
			st.Moving = append(st.Moving, p)
		}
	}
	return st
}

// withSamePods returns the first of the reserved nodes and those others that can be opened with it. These are the nodes whose
// pods all belong to one ReplicaSet, if that is the ReplicaSet of the first node too. Such pods are equal, so it does not
// matter which of the nodes kube-scheduler chooses for which pod.
func withSamePods(s *model.Snapshot, reserved []*model.Node) []*model.Node {
	sets := map[string]types.UID{} // by node: the ReplicaSet of its pods, empty if there are pods without one or of several
	for _, source := range s.Nodes() {
		if !source.Deleting && !status.Disrupting(source) {
			continue
		}
		for _, p := range source.Reschedulable() {
			to, set := s.TargetOf(p), replicaSetOf(p)
			if known, ok := sets[to]; ok && known != set {
				set = ""
			}
			sets[to] = set
		}
	}
	first := reserved[0]
	return slices.DeleteFunc(reserved, func(n *model.Node) bool {
		return n != first && (sets[n.Name] == "" || sets[n.Name] != sets[first.Name])
	})
}

// replicaSetOf returns the UID of the ReplicaSet that controls the pod, or an empty UID.
func replicaSetOf(p *model.Pod) types.UID {
	if owner := p.Owner(); owner != nil && owner.Kind == "ReplicaSet" {
		return owner.UID
	}
	return ""
}

// neededNow returns the names of the reserved nodes that are the destination of pending pods.
func neededNow(s *model.Snapshot) map[string]bool {
	needed := map[string]bool{}
	for _, p := range s.Pending() {
		if n, ok := status.AssignedTo(s, p); ok && n.Reserved() {
			needed[n.Name] = true
		}
	}
	return needed
}

// sourceState reports whether a node with pods for n is marked for disruption or being deleted, and whether one is being
// deleted.
func sourceState(s *model.Snapshot, n *model.Node) (disrupted, deleted bool) {
	for _, name := range sourceClaims(n) {
		claim, known := s.Claims.Get(name)
		source, ok := s.NodeByName(name)
		if !known || !ok || source.Claim != claim {
			continue
		}
		deleted = deleted || source.Deleting
		disrupted = disrupted || source.Deleting || status.Disrupting(source)
	}
	return disrupted, deleted
}

// sourceClaims returns the names of the claims whose pods move to n.
func sourceClaims(n *model.Node) []string { return append(status.Replaces(n), status.TakesFrom(n)...) }

// rankOf returns the rank of a reserved node: lower ranks are opened first. Nodes that existed before the command have
// rank 0.
func rankOf(n *model.Node) int {
	i, _ := strconv.Atoi(n.Claim.Annotations[apiv1.MoveStageAnnotationKey])
	return i
}

// AwaitsOpening reports whether the destination of the pod is still reserved and not being deleted.
func AwaitsOpening(s *model.Snapshot, p *model.Pod) bool {
	n, ok := s.NodeByName(s.TargetOf(p))
	return ok && n.Reserved() && !n.Deleting
}

// Sources returns the names of the Nodes with pods whose destination is n, sorted. Only nodes that are being deleted count.
func Sources(s *model.Snapshot, n *model.Node) []string {
	var out []string
	for _, source := range s.Nodes() {
		if source.Deleting && source.Object != nil && slices.ContainsFunc(source.Reschedulable(), func(p *model.Pod) bool {
			return s.TargetOf(p) == n.Name
		}) {
			out = append(out, source.Object.Name)
		}
	}
	slices.Sort(out)
	return out
}
