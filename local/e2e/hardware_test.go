package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A pod that requests a GPU gets a node with a GPU. The device plugin starts late, and the node is not initialized before.
func TestGPU(t *testing.T) {
	t.Parallel()
	s := newScene(t, "gpu")
	s.class()
	s.pool("gpu", needs{family("g5")})
	s.deploy("train", 1, "1", func(p *corev1.PodSpec) {
		p.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	})
	s.awaitRunning("train", 1)
	var claims apiv1.NodeClaimList
	s.await(&claims, func() string {
		if len(claims.Items) == 1 && condition.IsTrue(&claims.Items[0], apiv1.ConditionTypeInitialized) {
			return ""
		}
		return "the claim is not initialized"
	}, s.mine())
	nodes := s.nodes()
	if len(nodes) != 1 {
		t.Fatalf("%d nodes, want 1", len(nodes))
	}
	gpus := nodes[0].Status.Capacity["nvidia.com/gpu"]
	if gpus.Value() < 1 || nodes[0].Labels["karpenter.k8s.aws/instance-gpu-name"] != "a10g" {
		t.Errorf("the node has %s GPUs and labels %v", gpus.String(), nodes[0].Labels)
	}
}

// Reserved capacity is used before other capacity, as far as it is sufficient.
func TestReservedCapacity(t *testing.T) {
	t.Parallel()
	s := newScene(t, "reserved")
	out, err := shared.Run(t, "aws", "reserve", "m6i.large/us-east-1a", "--count", "1", "--tag", "scene=reserved")
	if err != nil {
		t.Fatalf("reserve: %v\n%s", err, out)
	}
	id := strings.TrimSpace(out)
	t.Cleanup(func() {
		if out, err := shared.Run(t, "aws", "reserve", "--cancel", id); err != nil {
			t.Errorf("cancel: %v\n%s", err, out)
		}
	})
	s.class()
	var class awsv1.EC2NodeClass
	if err := shared.Get(t.Context(), client.ObjectKey{Name: s.name}, &class); err != nil {
		t.Fatal(err)
	}
	before := class.DeepCopy()
	class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{Tags: map[string]string{"scene": "reserved"}}}
	if err := shared.Patch(t.Context(), &class, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	var classes awsv1.EC2NodeClassList
	s.await(&classes, func() string {
		for _, c := range classes.Items {
			if c.Name == s.name && len(c.Status.CapacityReservations) == 1 {
				return ""
			}
		}
		return "the class has found no reservation"
	})
	s.pool("any", nil, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.Requirements = needs{
			typesOf("m6i.large"), in(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeReserved, apiv1.CapacityTypeOnDemand),
		}
	})
	s.deploy("web", 2, "1500m") // two nodes, one of them reserved
	s.awaitRunning("web", 2)
	kinds := map[string]int{}
	for _, n := range s.nodes() {
		kinds[n.Labels[apiv1.CapacityTypeLabelKey]+" "+n.Labels[awsv1.LabelCapacityReservationID]]++
	}
	if kinds["reserved "+id] != 1 || kinds["on-demand "] != 1 {
		t.Errorf("nodes are %v, want one in %s and one on demand", kinds, id)
	}
}
