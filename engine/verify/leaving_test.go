package verify

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// The snapshot and this package agree which nodes are being deleted, although each computes it from the objects by its own
// code.
func TestLeavingAgreesWithTheSnapshot(t *testing.T) {
	at := metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
		n.Spec.ProviderID = "fake:///1"
		change(n)
		return n
	}
	claim := func(change func(*apiv1.NodeClaim)) *apiv1.NodeClaim {
		c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
		c.Status.ProviderID = "fake:///1"
		change(c)
		return c
	}
	stays, goes := func(*corev1.Node) {}, func(n *corev1.Node) { n.DeletionTimestamp = &at }
	claimStays, claimGoes := func(*apiv1.NodeClaim) {}, func(c *apiv1.NodeClaim) { c.DeletionTimestamp = &at }
	ends := func(c *apiv1.NodeClaim) { condition.SetTrue(c, apiv1.ConditionTypeInstanceTerminating, at.Time) }
	for _, tt := range []struct {
		name  string
		node  *corev1.Node
		claim *apiv1.NodeClaim
		want  bool
	}{
		{"both stay", node(stays), claim(claimStays), false},
		{"the Node object is deleted", node(goes), claim(claimStays), true},
		{"the claim is deleted", node(stays), claim(claimGoes), true},
		{"the instance ends", node(stays), claim(ends), true},
		{"a node without a claim stays", node(stays), nil, false},
		{"a node without a claim is deleted", node(goes), nil, true},
		{"a claim without a node is deleted", nil, claim(claimGoes), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d model.Delta
			if tt.node != nil {
				d.Nodes = append(d.Nodes, tt.node)
			}
			if tt.claim != nil {
				d.Claims = append(d.Claims, tt.claim)
			}
			n := model.Compile(d).Nodes()[0]
			if n.Deleting != tt.want || leaving(n) != tt.want {
				t.Errorf("the snapshot says %v, the verification %v; want %v", n.Deleting, leaving(n), tt.want)
			}
		})
	}
}
