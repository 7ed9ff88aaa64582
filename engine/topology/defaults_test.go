package topology_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
)

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func service(namespace, name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: meta(namespace, name), Spec: corev1.ServiceSpec{Selector: selector}}
}

// Default constraints get the label selector that kube-scheduler derives from the services and the owner of a pod.
func TestDefaultSelectors(t *testing.T) {
	type set = map[string]string
	in := func(key, value string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}}
	}
	d := topology.Defaults{
		Constraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway},
			{MaxSkew: 2, TopologyKey: "host", WhenUnsatisfiable: corev1.DoNotSchedule},
		},
		Services: []*corev1.Service{
			service("shop", "b", set{"app": "web", "tier": "front"}), service("shop", "a", set{"app": "web"}),
			service("shop", "headless", nil), service("shop", "other", set{"app": "db"}), service("bank", "x", set{"app": "web"}),
		},
		ReplicaSets: []*appsv1.ReplicaSet{{ObjectMeta: meta("shop", "web"), Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: set{"hash": "1", "app": "web"}},
		}}},
		StatefulSets: []*appsv1.StatefulSet{{ObjectMeta: meta("shop", "web"), Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{in("set", "s")}},
		}}},
		Controllers: []*corev1.ReplicationController{{ObjectMeta: meta("shop", "web"),
			Spec: corev1.ReplicationControllerSpec{Selector: set{"tier": "old"}}}},
	}
	of := d.Of()
	for _, tt := range []struct {
		name, namespace, api, kind string
		labels                     set
		want                       *metav1.LabelSelector
	}{
		{name: "nothing selects it", namespace: "shop", labels: set{"app": "cache"}},
		{name: "services", namespace: "shop", labels: set{"app": "web", "tier": "front"},
			want: &metav1.LabelSelector{MatchLabels: set{"app": "web", "tier": "front"}}},
		{name: "services of its namespace only", namespace: "bank", labels: set{"app": "web", "tier": "front"},
			want: &metav1.LabelSelector{MatchLabels: set{"app": "web"}}},
		{name: "a replica set is asked in addition", namespace: "shop", api: "apps/v1", kind: "ReplicaSet",
			labels: set{"app": "web"}, want: &metav1.LabelSelector{MatchLabels: set{"app": "web"},
				MatchExpressions: []metav1.LabelSelectorRequirement{in("app", "web"), in("hash", "1")}}},
		{name: "a stateful set alone", namespace: "shop", api: "apps/v1", kind: "StatefulSet",
			want: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{in("set", "s")}}},
		{name: "a replication controller is merged", namespace: "shop", api: "v1", kind: "ReplicationController",
			labels: set{"app": "web", "tier": "front"}, want: &metav1.LabelSelector{MatchLabels: set{"app": "web", "tier": "old"}}},
		{name: "a job contributes nothing", namespace: "shop", api: "batch/v1", kind: "Job"},
		{name: "an owner that is not known", namespace: "bank", api: "apps/v1", kind: "ReplicaSet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &corev1.Pod{ObjectMeta: meta(tt.namespace, "p")}
			o.Labels = tt.labels
			if yes := true; tt.kind != "" {
				o.OwnerReferences = []metav1.OwnerReference{{APIVersion: tt.api, Kind: tt.kind, Name: "web", Controller: &yes}}
			}
			var want []corev1.TopologySpreadConstraint
			for _, c := range d.Constraints {
				if c.LabelSelector = tt.want; tt.want != nil {
					want = append(want, c)
				}
			}
			if diff := cmp.Diff(want, of(model.NewPod(o))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if d.Constraints[0].LabelSelector != nil {
		t.Error("the defaults themselves were given a selector")
	}
}
