package api_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func TestKind(t *testing.T) {
	machines := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineList"}}
	for want, o := range map[string]runtime.Object{
		"Pod": &corev1.PodList{}, "Node": &corev1.Node{}, "NodeClaim": &apiv1.NodeClaim{}, "Machine": machines,
	} {
		if got := api.Kind(o); got != want {
			t.Errorf("kind of %T is %q, want %q", o, got, want)
		}
	}
}
