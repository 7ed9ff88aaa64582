package inputs

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// Spread computes kube-scheduler's default spread constraints of pods. A nil Spread returns none.
type Spread struct {
	// Reader lists services and owners of pods, from a cache.
	Reader client.Reader
	// Constraints are the configured constraints. They have no label selectors.
	Constraints []corev1.TopologySpreadConstraint
	// Services is true if the controller may read services. Otherwise label selectors are derived from owners alone.
	Services bool
}

// Of returns a function from a pod to its default constraints. It uses the services and owners that exist now. Kinds
// that cannot be read are ignored.
func (d *Spread) Of(ctx context.Context) func(*model.Pod) []corev1.TopologySpreadConstraint {
	if d == nil {
		return nil
	}
	var services corev1.ServiceList
	var controllers corev1.ReplicationControllerList
	var replicaSets appsv1.ReplicaSetList
	var statefulSets appsv1.StatefulSetList
	lists := []client.ObjectList{&controllers, &replicaSets, &statefulSets}
	if d.Services {
		lists = append(lists, &services)
	}
	for _, list := range lists {
		// The objects are not changed, and there may be ten thousand of them.
		if err := d.Reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "failed to list the workloads of default topology spread")
		}
	}
	return topology.Defaults{
		Constraints: d.Constraints, Services: each(services.Items), Controllers: each(controllers.Items),
		ReplicaSets: each(replicaSets.Items), StatefulSets: each(statefulSets.Items),
	}.Of()
}

func each[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
