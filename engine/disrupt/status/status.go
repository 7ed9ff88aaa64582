package status

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Reasons of forced disruption.
const (
	// ReasonExpired cannot be named by budgets, because expiry ignores them.
	ReasonExpired   apiv1.DisruptionReason = "Expired"
	ReasonUnhealthy                        = apiv1.DisruptionReasonUnhealthy
)

// Forced reports whether disruption for the reason needs no approval, ignores pauses and do-not-disrupt of the node, and is not
// validated again before nodes are deleted. Expiry also ignores do-not-disrupt of pods. Repair does if its drain has a bound.
func Forced(reason apiv1.DisruptionReason) bool {
	return reason == ReasonExpired || reason == ReasonUnhealthy
}

// Disrupting reports whether the node is marked for disruption, by the taint or by the condition of its claim. A node
// that is rebooted has the condition as well, but it stays.
func Disrupting(n *model.Node) bool {
	return n.Disrupted() || n.Claim != nil && !n.Rebooting() && condition.IsTrue(n.Claim, apiv1.ConditionTypeDisruptionReason)
}

// Reason returns the reason for which the node was marked, empty if it is not known.
func Reason(n *model.Node) apiv1.DisruptionReason {
	if mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason); mark != nil {
		return apiv1.DisruptionReason(mark.Reason)
	}
	return ""
}

// Begun reports whether this controller marked the node. If it did not, another program, such as upstream Karpenter,
// began to disrupt the node, and the replacements are not known.
func Begun(n *model.Node) bool {
	mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason)
	if mark == nil {
		return false
	}
	return n.Claim.Annotations[apiv1.DisruptionBegunAnnotationKey] == mark.LastTransitionTime.UTC().Format(time.RFC3339)
}

// TerminatesFirst reports whether the node is terminated before capacity for its pods is launched.
func TerminatesFirst(n *model.Node) bool {
	return n.Claim != nil && n.Claim.Annotations[apiv1.TerminateFirstAnnotationKey] != ""
}

// RepairBound returns the longest time that the drain of a node may take if its claim is being repaired. ok is false if
// there is no bound, or if the annotation is not a duration of 0s or more.
func RepairBound(c *apiv1.NodeClaim) (bound time.Duration, ok bool) {
	if c == nil {
		return 0, false
	}
	bound, err := time.ParseDuration(c.Annotations[apiv1.RepairTerminationGracePeriodAnnotationKey])
	return bound, err == nil && bound >= 0
}

// Replaces returns the names of the claims that n was launched to replace.
func Replaces(n *model.Node) []string { return listed(n.Claim, apiv1.ReplacesAnnotationKey) }

// ReplacesExisting reports whether n was launched to replace a node whose claim still exists.
func ReplacesExisting(s *model.Snapshot, n *model.Node) bool {
	return slices.ContainsFunc(Replaces(n), func(name string) bool {
		_, exists := s.Claims.Get(name)
		return exists
	})
}

// ReplacedBy returns the names of the claims that must be initialized before c is deleted.
func ReplacedBy(c *apiv1.NodeClaim) []string { return listed(c, apiv1.ReplacedByAnnotationKey) }

// ReplacedTypes returns the types of the nodes that n was launched to replace, each as "instance type/capacity type".
func ReplacedTypes(n *model.Node) []string { return listed(n.Claim, apiv1.ReplacedTypesAnnotationKey) }

// TakesFrom returns the names of the claims for whose pods n is reserved.
func TakesFrom(n *model.Node) []string { return listed(n.Claim, apiv1.ReceivesPodsFromAnnotationKey) }

// listed splits an annotation of the claim at commas.
func listed(c *apiv1.NodeClaim, annotation string) []string {
	if c == nil || c.Annotations[annotation] == "" {
		return nil
	}
	return strings.Split(c.Annotations[annotation], ",")
}

// Deleted returns copies of the claims of the nodes, to which it adds the deletion timestamp now. In a what-if Snapshot
// the pods of such a node need another place, but the node still counts against limits.
func Deleted(now time.Time, nodes ...*model.Node) []*apiv1.NodeClaim {
	claims := make([]*apiv1.NodeClaim, len(nodes))
	for i, n := range nodes {
		c := *n.Claim
		c.DeletionTimestamp = &metav1.Time{Time: now}
		claims[i] = &c
	}
	return claims
}

// MarkedAsDeleted returns copies of the claims of the nodes that are marked for disruption and not being deleted. It
// adds the deletion timestamp s.Now to the copies. A plan then treats the pods of these nodes as pods that need another
// place.
func MarkedAsDeleted(s *model.Snapshot) []*apiv1.NodeClaim {
	var marked []*model.Node
	for _, n := range s.Nodes() {
		if n.Claim != nil && !n.Deleting && Disrupting(n) {
			marked = append(marked, n)
		}
	}
	return Deleted(s.Now, marked...)
}

// Consolidatable reports whether the NodePool's consolidateAfter has passed since the last pod event of the node, or a user has
// requested consolidation since. The claim's condition says so, but it may be older than the snapshot, and older than the time
// of the last event in the claim's status: the controller that writes it waits for calls to the cloud. So it does not count if
// neither holds since the latest event of the status and of the pods in the snapshot.
func Consolidatable(s *model.Snapshot, n *model.Node) bool {
	if n.Claim == nil || !condition.IsTrue(n.Claim, apiv1.ConditionTypeConsolidatable) {
		return false
	}
	pool, ok := s.Pool(n.Pool)
	if !ok || pool.Object.Spec.Disruption.ConsolidateAfter.Duration == nil {
		return true
	}
	after := *pool.Object.Spec.Disruption.ConsolidateAfter.Duration
	if after == 0 {
		return true
	}
	var pods []*corev1.Pod
	for _, p := range s.BoundTo(n) {
		pods = append(pods, p.Object)
	}
	last := n.Claim.Status.LastPodEventTime.Time
	if seen := lifecycle.LastPodEvent(pods, s.Now); seen.Truncate(time.Second).After(last) { // the API stores whole seconds
		last = seen
	}
	return !s.Now.Before(last.Add(after)) || lifecycle.ConsolidationRequested(pool.Object, last, s.Now)
}

// ProtectedPod returns a pod of the node that has an active do-not-disrupt annotation and is not terminating, nil if there is
// none.
func ProtectedPod(n *model.Node, now time.Time) *model.Pod {
	for _, p := range n.Pods {
		if active, _, _ := model.DoNotDisrupt(p.Object, now); active && !p.Terminating() {
			return p
		}
	}
	return nil
}

// Unprotected returns a refusal if the node has an active do-not-disrupt annotation, or if one protects a pod of it
// (ProtectedPod).
func Unprotected(n *model.Node, now time.Time) model.Verdict {
	if n.Object != nil && n.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true" {
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "node " + n.Name}
	}
	if p := ProtectedPod(n, now); p != nil {
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "pod " + p.Key}
	}
	return model.Verdict{}
}

// startupLimit is how long the initialization of a replacement may take. After that the replacement is ignored.
const startupLimit = 15 * time.Minute

// Overdue reports whether n is not initialized and its startup limit has passed.
func Overdue(n *model.Node, now time.Time) bool {
	return !n.Initialized && now.Sub(n.Claim.CreationTimestamp.Time) >= startupLimit
}

// Surplus reports whether n is launched, neither initialized nor overdue, and replaces only nodes that are not being
// removed, of which at least one still exists. No command needs n, so pods of other commands may be planned onto it.
func Surplus(s *model.Snapshot, n *model.Node) bool {
	if n.Claim == nil || !n.Launched() || n.Initialized || n.Deleting || Overdue(n, s.Now) {
		return false
	}
	stays := false
	for _, name := range Replaces(n) {
		c, exists := s.Claims.Get(name)
		if !exists {
			continue
		}
		if c.DeletionTimestamp != nil || slices.Contains(ReplacedBy(c), n.Claim.Name) {
			return false
		}
		stays = true
	}
	return stays
}

// AssignedTo returns the node to which a pod is assigned (Snapshot.TargetOf). ok is false if there is none, or if p is a
// placeholder pod of a capacity buffer.
func AssignedTo(s *model.Snapshot, p *model.Pod) (n *model.Node, ok bool) {
	n, ok = s.NodeByName(s.TargetOf(p))
	return n, ok && !p.Virtual()
}

// Freeing has an entry, by name, for each node to which a pending or displaced pod is assigned. It is true if such a pod fits
// there once the terminating pods of the node are gone. An example is a pod that preempts others.
func Freeing(s *model.Snapshot) map[string]bool {
	freeing := map[string]bool{}
	for _, p := range append(s.Pending(), s.Displaced()...) {
		n, ok := AssignedTo(s, p)
		if !ok {
			continue
		}
		free, frees := n.Free(), false
		for _, other := range n.Pods {
			if other.Terminating() {
				free, frees = free.Plus(other.Requests), true
			}
		}
		_, _, short := p.Requests.Short(free)
		freeing[n.Name] = freeing[n.Name] || frees && !short
	}
	return freeing
}
