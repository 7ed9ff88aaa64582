package offline

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
)

// Nodes of an EC2NodeClass that changes drift if its hash or its images by ID change. If other selectors change, it is told
// that drift is not known.
func TestClassDrift(t *testing.T) {
	stored := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	stored.Spec.AMISelectorTerms, stored.Spec.AMIFamily = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}, ptr.To("AL2023")
	stored.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}}
	claim := func(name, class, hash string) *apiv1.NodeClaim {
		c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", Annotations: map[string]string{
			awsv1.AnnotationEC2NodeClassHash: hash, awsv1.AnnotationEC2NodeClassHashVersion: nodeclass.HashVersion,
		}, Labels: map[string]string{apiv1.NodePoolLabelKey: "default"}}}
		c.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: class}
		c.Status.ImageID, c.Status.ProviderID, c.Status.NodeName = "ami-1", "aws:///a/"+name, name
		return c
	}
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "aws:///a/" + name}}
	}
	s := model.Compile(model.Delta{
		Claims: []*apiv1.NodeClaim{claim("n1", "default", nodeclass.Hash(stored)), claim("n2", "other", nodeclass.Hash(stored)), claim("n3", "default", "stale")},
		Nodes:  []*corev1.Node{node("n1"), node("n2"), node("n3")},
	})
	for _, tt := range []struct {
		name    string
		change  func(*awsv1.EC2NodeClassSpec)
		drifted map[string]string
		unknown []string
	}{
		{"nothing", func(*awsv1.EC2NodeClassSpec) {}, map[string]string{}, nil},
		{"a field of the hash", func(s *awsv1.EC2NodeClassSpec) { s.UserData = ptr.To("echo") }, map[string]string{"n1": "NodeClassDrift"}, nil},
		{"another image by ID", func(s *awsv1.EC2NodeClassSpec) { s.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: "ami-2"}} },
			map[string]string{"n1": "AMIDrift"}, nil},
		{"the same image by ID", func(s *awsv1.EC2NodeClassSpec) { s.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: "ami-1"}} }, map[string]string{}, nil},
		{"another alias and other subnets", func(s *awsv1.EC2NodeClassSpec) {
			s.AMISelectorTerms, s.SubnetSelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@v20260101"}}, []awsv1.SubnetSelectorTerm{{ID: "subnet-2"}}
		}, map[string]string{}, []string{
			"spec.amiSelectorTerms of EC2NodeClass default: up to 1 more node may drift too (AMIDrift)",
			"spec.subnetSelectorTerms of EC2NodeClass default: up to 1 more node may drift too (SubnetDrift)",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := stored.DeepCopy()
			tt.change(&changed.Spec)
			drifted, unknown := ClassDrift(s, stored, changed)
			if !maps.Equal(drifted, tt.drifted) || len(unknown) != len(tt.unknown) {
				t.Fatalf("drifted %v, unknown %q", drifted, unknown)
			}
			for i, want := range tt.unknown {
				if !strings.HasPrefix(unknown[i], want) {
					t.Errorf("unknown %q, want %q", unknown[i], want)
				}
			}
		})
	}
}
