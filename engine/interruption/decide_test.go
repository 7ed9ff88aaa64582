package interruption

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// The result of Decide does not depend on the order of notices and claims. Each claim gets at most one action. After the
// actions are carried out, Decide returns no further deletion, cordon or deadline.
func TestDecideLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := State{Now: now}
		for i := range rapid.IntRange(1, 6).Draw(t, "claims") {
			id := fmt.Sprintf("cloud:///zone/i-%d", i)
			c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%d", i)}}
			c.Status.ProviderID, c.Status.NodeName = id, fmt.Sprintf("n-%d", i)
			if rapid.Bool().Draw(t, "deleted") {
				c.DeletionTimestamp = &metav1.Time{Time: now}
			}
			s.Claims = append(s.Claims, c)
			if rapid.Bool().Draw(t, "node") {
				s.Nodes = append(s.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Status.NodeName}, Spec: corev1.NodeSpec{ProviderID: id}})
			}
		}
		kinds := []model.NoticeKind{"unknown"}
		for _, r := range responses {
			kinds = append(kinds, r.kind)
		}
		for range rapid.IntRange(0, 12).Draw(t, "notices") {
			i := rapid.IntRange(0, 7).Draw(t, "instance")
			n := model.Notice{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
			switch rapid.IntRange(0, 3).Draw(t, "form") {
			case 0:
				n.Instance = fmt.Sprintf("i-%d", i)
			case 1:
				n.Instance = fmt.Sprintf("cloud:///zone/i-%d", i)
			case 2:
				n.Node = fmt.Sprintf("n-%d", i)
			}
			s.Notices = append(s.Notices, n)
		}
		actions := Decide(s)

		shuffled := State{
			Now: now, Notices: rapid.Permutation(s.Notices).Draw(t, "notices in another order"),
			Claims: rapid.Permutation(s.Claims).Draw(t, "claims in another order"), Nodes: s.Nodes,
		}
		if got, want := text(Decide(shuffled)), text(actions); got != want {
			t.Fatalf("in another order:\n%s\nwant:\n%s", got, want)
		}
		for i, a := range actions {
			if i > 0 && actions[i-1].Claim.Name >= a.Claim.Name {
				t.Fatalf("actions for %s and %s are out of order, or one claim has two", actions[i-1].Claim.Name, a.Claim.Name)
			}
			deleted := !a.Claim.DeletionTimestamp.IsZero()
			if a.Cordon && !a.Delete || !a.Deadline.IsZero() && !a.Delete && !deleted {
				t.Fatalf("a claim that stays loses its pods:\n%s", a)
			}
			if deleted && (a.Delete || a.Ended.Reason != "") {
				t.Fatalf("deleted again:\n%s", a)
			}
			if a.Delete {
				a.Claim.DeletionTimestamp = &metav1.Time{Time: now}
			}
			if !a.Deadline.IsZero() {
				metav1.SetMetaDataAnnotation(&a.Claim.ObjectMeta, apiv1.NodeClaimTerminationTimestampAnnotationKey, now.Format(time.RFC3339))
			}
		}
		again := Decide(s)
		if i := slices.IndexFunc(again, func(a Action) bool { return a.Delete || a.Cordon || !a.Deadline.IsZero() }); i >= 0 {
			t.Fatalf("asked for again:\n%s", again[i])
		}
	})
}
