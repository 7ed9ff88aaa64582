package inputs

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
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
	// Readable are those of Workloads that the controller may read. Label selectors are derived from their objects alone.
	Readable sets.Set[schema.GroupResource]
}

// Workloads returns the resources from whose objects the label selectors of default constraints are derived.
func Workloads() []schema.GroupResource {
	return []schema.GroupResource{services, replicationControllers, replicaSets, statefulSets}
}

var (
	services               = schema.GroupResource{Resource: "services"}
	replicationControllers = schema.GroupResource{Resource: "replicationcontrollers"}
	replicaSets            = schema.GroupResource{Group: appsv1.GroupName, Resource: "replicasets"}
	statefulSets           = schema.GroupResource{Group: appsv1.GroupName, Resource: "statefulsets"}
)

// Of returns a function from a pod to its default constraints, by the services and controllers that exist now. If a kind cannot
// be read, the error is logged, and its objects are missing.
func (d *Spread) Of(ctx context.Context) func(*model.Pod) []corev1.TopologySpreadConstraint {
	if d == nil {
		return nil
	}
	var (
		ofServices    corev1.ServiceList
		ofControllers corev1.ReplicationControllerList
		ofReplicas    appsv1.ReplicaSetList
		ofStateful    appsv1.StatefulSetList
	)
	for _, of := range []struct {
		resource schema.GroupResource
		list     client.ObjectList
	}{
		{replicationControllers, &ofControllers}, {replicaSets, &ofReplicas}, {statefulSets, &ofStateful}, {services, &ofServices},
	} {
		if !d.Readable.Has(of.resource) {
			continue // the list would block until the controller may read the kind
		}
		// UnsafeDisableDeepCopy saves the copies of up to ten thousand objects, which are not changed here.
		if err := d.Reader.List(ctx, of.list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "failed to list the workloads of default topology spread", "resource", of.resource.String())
		}
	}
	return topology.Defaults{
		Constraints: d.Constraints, Services: each(ofServices.Items), Controllers: each(ofControllers.Items),
		ReplicaSets: each(ofReplicas.Items), StatefulSets: each(ofStateful.Items),
	}.Of()
}

func each[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
