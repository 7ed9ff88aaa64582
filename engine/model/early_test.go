package model_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Node may be added before the ProviderID of its claim is set, or after it. The Node and the claim never count twice, and
// NodeByName returns the one that counts, although both may have the name.
func TestNodeBeforeItsClaimIsLaunched(t *testing.T) {
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "a", UID: "1", Labels: map[string]string{apiv1.NodePoolLabelKey: "default"},
	}}
	launched := claim.DeepCopy()
	launched.Status.ProviderID = "x://a"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{apiv1.NodePoolLabelKey: "default", apiv1.NodeRegisteredLabelKey: "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: "a", UID: "1"}},
	}, Spec: corev1.NodeSpec{ProviderID: "x://a"}}
	other := node.DeepCopy()
	other.OwnerReferences[0].UID = "2"
	nodes := func(n *corev1.Node) model.Delta { return model.Delta{Nodes: []*corev1.Node{n}} }
	claims := func(c *apiv1.NodeClaim) model.Delta { return model.Delta{Claims: []*apiv1.NodeClaim{c}} }
	gone := model.Delta{Gone: []model.Ref{{Kind: model.KindClaim, Key: "a"}}}
	for _, tt := range []struct {
		name               string
		steps              []model.Delta
		count              int
		hasNode, hasObject bool
	}{
		{"claim, then node", []model.Delta{claims(claim), nodes(node)}, 1, true, false},
		{"node, then claim", []model.Delta{nodes(node), claims(claim)}, 1, true, false},
		{"launched at last", []model.Delta{nodes(node), claims(claim), claims(launched)}, 1, true, true},
		{"launched before the node", []model.Delta{claims(launched), nodes(node)}, 1, true, true},
		{"the claim is gone", []model.Delta{claims(claim), nodes(node), gone}, 1, true, true},
		{"the node of an earlier claim of that name", []model.Delta{claims(claim), nodes(other)}, 2, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &model.Snapshot{}
			for _, step := range tt.steps {
				s = s.Apply(step)
			}
			n, ok := s.NodeByName("a")
			if len(s.Nodes()) != tt.count || ok != tt.hasNode || (n.Object != nil) != tt.hasObject {
				t.Errorf("%d nodes, found %v with object %v", len(s.Nodes()), ok, n.Object != nil)
			}
		})
	}
}
