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

// Spread computes kube-scheduler's default spread constraints of pods. The methods of a nil Spread return nil.
type Spread struct {
	// Reader lists services and the controllers of pods, from a cache.
	Reader client.Reader
	// Constraints are the configured constraints. They have no label selectors.
	Constraints []corev1.TopologySpreadConstraint
	// Services is true if the controller may read services. Otherwise label selectors are derived from the controllers of pods
	// alone.
	Services bool
}

// Of returns a function from a pod to its default constraints, by the services and controllers that exist now. If a kind cannot
// be read, the error is logged, and its objects are missing.
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
		// UnsafeDisableDeepCopy saves the copies of up to ten thousand objects, which are not changed here.
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
