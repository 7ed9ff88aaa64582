package act

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

func doomed(name, typeName string) *model.Node {
	return &model.Node{
		Name: name, Claim: &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name + "-claim"}},
		Labels: map[string]string{corev1.LabelInstanceTypeStable: typeName, apiv1.CapacityTypeLabelKey: "spot"},
	}
}

// Annotations of the replacements name the claims and types that they replace.
func TestReplace(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(api.Scheme()).Build()
	a := &Actor{Client: c, Labels: apiv1.CoreLabels()}
	drafts := a.Draft(&model.Command{
		Nodes: []*model.Node{doomed("n1", "b.large"), doomed("n2", "a.large")}, Replacements: []model.PlannedNode{plannedNode()},
	})
	if err := a.Replace(t.Context(), drafts); err != nil {
		t.Fatal(err)
	}
	var there apiv1.NodeClaimList
	if err := c.List(t.Context(), &there); err != nil || len(there.Items) != 1 || there.Items[0].Name != drafts[0].Claim.Name {
		t.Fatalf("claims are %v (%v), want one of the name that was drafted", there.Items, err)
	}
	got := there.Items[0].Annotations
	if got[apiv1.ReplacesAnnotationKey] != "n1-claim,n2-claim" ||
		got[apiv1.ReplacedTypesAnnotationKey] != "a.large/spot,b.large/spot" || got["owner"] != "us" {
		t.Errorf("annotations are %v", got)
	}
}

// Replacements have a move stage if the evicted pods go to several nodes.
func TestTurns(t *testing.T) {
	a := &Actor{Labels: apiv1.CoreLabels(), Turns: true}
	two := []model.PlannedNode{plannedNode(), plannedNode()}
	room := []model.Placement{{}}
	for _, tt := range []struct {
		name    string
		off     bool
		command model.Command
		want    string
	}{
		{"one place", false, model.Command{Replacements: two[:1]}, ""},
		{"two replacements", false, model.Command{Replacements: two}, "1 2"},
		{"a replacement, and room that is there", false, model.Command{Replacements: two[:1], Placements: room}, "1"},
		{"switched off", true, model.Command{Replacements: two}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.Turns = !tt.off
			var got []string
			for _, l := range a.Draft(&tt.command) {
				if turn := l.Claim.Annotations[apiv1.MoveStageAnnotationKey]; turn != "" {
					got = append(got, turn)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If one of several replacements cannot be created, none remains.
func TestReplaceAllOrNone(t *testing.T) {
	var mu sync.Mutex // guards created: claims are created concurrently
	created := 0
	c := fake.NewClientBuilder().WithScheme(api.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			mu.Lock()
			created++
			fails := created == 2
			mu.Unlock()
			if fails {
				return apierrors.NewForbidden(schema.GroupResource{}, o.GetName(), errors.New("quota exceeded"))
			}
			o.SetFinalizers(nil) // so that Delete removes it at once
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	a := &Actor{Client: c, Labels: apiv1.CoreLabels()}
	replacements := []model.PlannedNode{plannedNode(), plannedNode(), plannedNode()}
	limited := &model.Command{Nodes: []*model.Node{doomed("n1", "a.large")}, Replacements: replacements}
	if err := a.Replace(t.Context(), a.Draft(limited)); err == nil {
		t.Fatal("a claim that was refused is no error")
	}
	var left apiv1.NodeClaimList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 0 {
		t.Errorf("%d claims are left, %v", len(left.Items), err)
	}
}

// Draft sets the names of replacements. A name has at most 63 characters.
func TestDraftNames(t *testing.T) {
	n := plannedNode()
	n.Pool.Object.Name = strings.Repeat("p", 63)
	n.Pool.Name = n.Pool.Object.Name
	c := &model.Command{Nodes: []*model.Node{doomed("n1", "a.large")}, Replacements: []model.PlannedNode{n, n}}
	drafts := (&Actor{Labels: apiv1.CoreLabels()}).Draft(c)
	a, b := drafts[0].Claim, drafts[1].Claim
	if len(a.Name) != 63 || a.Name == b.Name || a.GenerateName != "" {
		t.Errorf("names are %q and %q", a.Name, b.Name)
	}
}

// MarkAll is repeated after a conflict with another client that updated the node or its claim. Unmark does not change a claim
// that is being deleted.
func TestMarkAgainAfterConflict(t *testing.T) {
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Finalizers: []string{"example.com/holds"}}}
	condition.SetTrue(claim, apiv1.ConditionTypeDrifted, time.Unix(0, 0))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, node).WithStatusSubresource(&apiv1.NodeClaim{}).Build()
	get := func(o client.Object) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	get(claim)
	get(node)
	n := &model.Node{Name: "node", Claim: claim.DeepCopy(), Object: node.DeepCopy()}
	claim.Labels, node.Labels = map[string]string{"other": "wrote"}, map[string]string{"other": "wrote"}
	if err := errors.Join(c.Update(t.Context(), claim), c.Update(t.Context(), node)); err != nil {
		t.Fatal(err)
	}
	a := &Actor{Client: c}
	if _, err := a.mark(t.Context(), n, &model.Command{Reason: apiv1.DisruptionReasonDrifted}, []string{"next"}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	get(claim)
	get(node)
	if claim.Annotations[apiv1.ReplacedByAnnotationKey] != "next" || claim.Labels["other"] != "wrote" ||
		!condition.IsTrue(claim, apiv1.ConditionTypeDisruptionReason) || len(node.Spec.Taints) != 1 {
		t.Errorf("claim %+v, taints %v", claim, node.Spec.Taints)
	}
	n = &model.Node{Name: "node", Claim: claim.DeepCopy(), Object: node.DeepCopy()}
	if err := c.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Unmark(t.Context(), n); !Conflict(err) {
		t.Errorf("Unmark of a claim that is being deleted returns %v, want a conflict", err)
	}
}

// The claim has changed since the decision, so that the decision does not hold any more. It is not marked.
func TestMarkOfClaimThatChanged(t *testing.T) {
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		reason apiv1.DisruptionReason
		change func(*apiv1.NodeClaim)
		marked bool
	}{
		"another label":             {apiv1.DisruptionReasonEmpty, func(c *apiv1.NodeClaim) { c.Labels = map[string]string{"other": "wrote"} }, true},
		"a pod event":               {apiv1.DisruptionReasonEmpty, func(c *apiv1.NodeClaim) { c.Status.LastPodEventTime = metav1.NewTime(at) }, false},
		"a pod event, for drift":    {apiv1.DisruptionReasonDrifted, func(c *apiv1.NodeClaim) { c.Status.LastPodEventTime = metav1.NewTime(at) }, true},
		"not consolidatable":        {apiv1.DisruptionReasonUnderutilized, func(c *apiv1.NodeClaim) { condition.Clear(c, apiv1.ConditionTypeConsolidatable) }, false},
		"no longer drifted":         {apiv1.DisruptionReasonDrifted, func(c *apiv1.NodeClaim) { condition.Clear(c, apiv1.ConditionTypeDrifted) }, false},
		"no longer drifted, repair": {apiv1.DisruptionReason("Unhealthy"), func(c *apiv1.NodeClaim) { condition.Clear(c, apiv1.ConditionTypeDrifted) }, true},
	} {
		claim, node := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
		condition.SetTrue(claim, apiv1.ConditionTypeDrifted, time.Unix(0, 0))
		condition.SetTrue(claim, apiv1.ConditionTypeConsolidatable, time.Unix(0, 0))
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, node).WithStatusSubresource(&apiv1.NodeClaim{}).Build()
		for _, o := range []client.Object{claim, node} {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatal(err)
			}
		}
		n := &model.Node{Name: "node", Claim: claim.DeepCopy(), Object: node}
		tt.change(claim)
		other := claim.DeepCopy()
		if err := c.Update(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		other.Status = claim.Status
		if err := c.Status().Update(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		_, err := (&Actor{Client: c}).mark(t.Context(), n, &model.Command{Reason: tt.reason}, nil, at)
		if (err == nil) != tt.marked || err != nil && !Conflict(err) {
			t.Errorf("%s: mark returns %v", name, err)
		}
	}
}

// The write of the taint got no answer, and the cache does not show it yet. Unmark removes the taint nevertheless.
func TestUnmarkRemovesUnseenTaint(t *testing.T) {
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	claim, node := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, node).WithStatusSubresource(&apiv1.NodeClaim{}).Build()
	for _, o := range []client.Object{claim, node} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	n, a := &model.Node{Name: "node", Claim: claim, Object: node}, &Actor{Client: c}
	if _, err := a.mark(t.Context(), n, &model.Command{Reason: apiv1.DisruptionReasonEmpty}, nil, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Unmark(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil || len(node.Spec.Taints) > 0 {
		t.Errorf("the node has taints %v (%v), want none", node.Spec.Taints, err)
	}
}

// A rollback removes the deadline of a repair whose NodeClaim could not be deleted. Otherwise a later disruption would not drain the node.
// A NodeClaim that is being deleted keeps its deadline.
func TestUnmarkRemovesDeadline(t *testing.T) {
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, deleted := range []bool{false, true} {
		claim, node := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
		if deleted {
			claim.DeletionTimestamp, claim.Finalizers = &metav1.Time{Time: time.Unix(0, 0)}, []string{apiv1.TerminationFinalizer}
		}
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim, node).WithStatusSubresource(&apiv1.NodeClaim{}).Build()
		for _, o := range []client.Object{claim, node} {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatal(err)
			}
		}
		n, a := &model.Node{Name: "node", Claim: claim, Object: node}, &Actor{Client: c}
		written, err := a.Expedite(t.Context(), n, time.Unix(60, 0))
		if err != nil {
			t.Fatal(err)
		}
		n.Claim = written[0].(*apiv1.NodeClaim)
		if _, err := a.Unmark(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		var left apiv1.NodeClaim
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), &left); err != nil {
			t.Fatal(err)
		}
		if at, ok := left.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]; ok != deleted {
			t.Errorf("being deleted: %v: the deadline is %q", deleted, at)
		}
	}
}

// If another client changes the claim between the two writes of RequestReboot, the reboot is in the history once.
func TestRequestedRebootIsCountedOnce(t *testing.T) {
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
	conflicts := 1
	c := fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(claim).WithStatusSubresource(claim).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if conflicts > 0 {
				conflicts--
				other := &apiv1.NodeClaim{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), other); err != nil {
					return err
				}
				other.Labels = map[string]string{"other": "wrote"}
				if err := c.Update(ctx, other); err != nil {
					return err
				}
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	a := &Actor{Client: c, Live: c}
	repair := &model.Repair{Condition: corev1.NodeReady, Reason: "KubeletDown", Reboot: true}
	if _, err := a.RequestReboot(t.Context(), &model.Node{Name: "node", Claim: claim.DeepCopy()}, repair, now); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	history := claim.Annotations[apiv1.RepairHistoryAnnotationKey]
	if strings.Count(history, "@") != 1 || !condition.IsTrue(claim, apiv1.ConditionTypeRebooting) || claim.Labels["other"] != "wrote" {
		t.Errorf("history %q, claim %+v", history, claim)
	}
}
