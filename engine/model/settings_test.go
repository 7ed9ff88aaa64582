package model_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A DaemonSet with ResourceClaims counts only if dynamic resources are not ignored, also if it gets the claims later.
func TestDaemonsWithResourceClaims(t *testing.T) {
	plain := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "agent"}}
	claims := plain.DeepCopy()
	claims.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device"}}
	for counted, want := range map[bool]int{false: 0, true: 1} {
		s := (&model.Snapshot{DynamicResources: counted}).Apply(model.Delta{Daemons: []*appsv1.DaemonSet{plain}})
		if n := len(s.Daemons()); n != 1 {
			t.Errorf("counted %t: %d DaemonSets without claims, want 1", counted, n)
		}
		s = s.Apply(model.Delta{Daemons: []*appsv1.DaemonSet{claims}})
		if n := len(s.Daemons()); n != want {
			t.Errorf("counted %t: %d DaemonSets with claims, want %d", counted, n, want)
		}
		if n := len(model.WithoutObjects(s).Apply(model.Delta{Daemons: []*appsv1.DaemonSet{claims}}).Daemons()); n != want {
			t.Errorf("counted %t: %d DaemonSets with claims in a snapshot made anew, want %d", counted, n, want)
		}
	}
}

// A provider's deprecated label keys are replaced in NodePools that enter the snapshot.
func TestAliasesOfProvider(t *testing.T) {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: "disks.example.com/zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}},
	}
	s := &model.Snapshot{Aliases: map[string]string{"disks.example.com/zone": corev1.LabelTopologyZone}}
	for _, s := range []*model.Snapshot{s, model.WithoutObjects(s)} {
		p, _ := s.Apply(model.Delta{Pools: []*apiv1.NodePool{pool}}).Pool("default")
		if r, ok := p.Requirements.Get(corev1.LabelTopologyZone); !ok || !r.Has("a") || r.Has("b") {
			t.Errorf("the NodePool requires %s", p.Requirements)
		}
	}
}
