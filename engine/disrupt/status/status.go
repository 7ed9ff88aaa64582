package status

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Reasons of forced disruption. Budgets cannot name them.
const (
	ReasonExpired   apiv1.DisruptionReason = "Expired"
	ReasonUnhealthy apiv1.DisruptionReason = "Unhealthy"
)

// Forced reports whether nodes are disrupted for the reason whatever budgets and approvals say.
func Forced(reason apiv1.DisruptionReason) bool {
	return reason == ReasonExpired || reason == ReasonUnhealthy
}

// Disrupting reports whether the node is marked for disruption: by the taint, by the condition of its claim, or by both.
func Disrupting(n *model.Node) bool {
	return n.Disrupted() || n.Claim != nil && condition.IsTrue(n.Claim, apiv1.ConditionTypeDisruptionReason)
}

// Reason returns the reason that the node was marked for, empty if none is known.
func Reason(n *model.Node) apiv1.DisruptionReason {
	if mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason); mark != nil {
		return apiv1.DisruptionReason(mark.Reason)
	}
	return ""
}

// Replaces returns the names of the claims that n was launched to replace.
func Replaces(n *model.Node) []string { return listed(n.Claim, apiv1.ReplacesAnnotationKey) }

// ReplacedBy returns the names of the claims that must be initialized before c is deleted.
func ReplacedBy(c *apiv1.NodeClaim) []string { return listed(c, apiv1.ReplacedByAnnotationKey) }

// ReplacedTypes returns what the node replaced, as "instance type/capacity type".
func ReplacedTypes(n *model.Node) []string { return listed(n.Claim, apiv1.ReplacedTypesAnnotationKey) }

// TakesFrom returns the names of the claims whose pods n has room for and is reserved for.
func TakesFrom(n *model.Node) []string { return listed(n.Claim, apiv1.TakesFromAnnotationKey) }

// listed splits an annotation of the claim by commas.
func listed(c *apiv1.NodeClaim, annotation string) []string {
	if c == nil || c.Annotations[annotation] == "" {
		return nil
	}
	return strings.Split(c.Annotations[annotation], ",")
}

// Deleted returns the claims of the nodes with a deletion timestamp. In a hypothetical Snapshot their pods then need another
// place, while the nodes still count against limits.
func Deleted(now time.Time, nodes ...*model.Node) []*apiv1.NodeClaim {
	claims := make([]*apiv1.NodeClaim, len(nodes))
	for i, n := range nodes {
		c := *n.Claim
		c.DeletionTimestamp = &metav1.Time{Time: now}
		claims[i] = &c
	}
	return claims
}

// ProtectedPod returns a pod of the node with an active do-not-disrupt annotation, nil if there is none.
func ProtectedPod(n *model.Node, now time.Time) *model.Pod {
	for _, p := range n.Pods {
		if active, _, _ := drain.DoNotDisrupt(p.Object, now); active && !p.Terminating() {
			return p
		}
	}
	return nil
}

// Unprotected is a yes if neither the node nor a pod of it has an active do-not-disrupt annotation.
func Unprotected(n *model.Node, now time.Time) model.Verdict {
	if n.Object != nil && n.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true" {
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "the node"}
	}
	if p := ProtectedPod(n, now); p != nil {
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "pod " + p.Key}
	}
	return model.Verdict{}
}

// startupLimit is how long a replacement may take to be initialized. After that it is not counted on.
const startupLimit = 15 * time.Minute

// Overdue reports whether n is not initialized although its startup limit has passed.
func Overdue(n *model.Node, now time.Time) bool {
	return !n.Initialized && now.Sub(n.Claim.CreationTimestamp.Time) >= startupLimit
}

// Surplus reports whether n is launched, not yet initialized, and replaces nodes that stay for now. No command waits for it,
// so pods of other commands may go there.
func Surplus(s *model.Snapshot, n *model.Node) bool {
	if n.Claim == nil || !n.Launched() || n.Initialized || n.Deleting || Overdue(n, s.Now) {
		return false
	}
	stays := false
	for _, name := range Replaces(n) {
		c, exists := s.Claim(name)
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

// FreesRoom reports whether terminating pods of n leave enough room for p, as after a preemption.
func FreesRoom(n *model.Node, p *model.Pod) bool {
	free, frees := n.Free(), false
	for _, other := range n.Pods {
		if other.Terminating() {
			free, frees = free.Plus(other.Requests), true
		}
	}
	_, _, short := p.Requests.Short(free)
	return frees && !short
}
