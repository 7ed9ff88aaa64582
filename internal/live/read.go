package live

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
	"github.com/karpenter-go/karpenter/internal/observe"
)

// A Cluster is the result of Read and of Watched.Now. It has no instance types.
type Cluster struct {
	Snapshot *model.Snapshot
	Pools    []*apiv1.NodePool
	Classes  []*awsv1.EC2NodeClass
	Overlays []*overlayv1alpha1.NodeOverlay
	Nodes    []*corev1.Node
}

// Scheme returns a scheme with the kinds of Kubernetes and of this project.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("register kinds of Kubernetes: %w", err)
	}
	return s, api.AddToScheme(s)
}

// Spread returns the function that returns the default spread constraints of a pod. It lists the services and owners
// from which kube-scheduler derives their selectors.
func Spread(
	ctx context.Context, r client.Reader, constraints []corev1.TopologySpreadConstraint,
) (func(*model.Pod) []corev1.TopologySpreadConstraint, error) {
	var services corev1.ServiceList
	var controllers corev1.ReplicationControllerList
	var replicaSets appsv1.ReplicaSetList
	var statefulSets appsv1.StatefulSetList
	for _, list := range []client.ObjectList{&services, &controllers, &replicaSets, &statefulSets} {
		if err := r.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list objects of kind %s: %w", api.Kind(list), err)
		}
	}
	return topology.Defaults{
		Constraints: constraints, Services: each(services.Items), Controllers: each(controllers.Items),
		ReplicaSets: each(replicaSets.Items), StatefulSets: each(statefulSets.Items),
	}.Of(), nil
}

// Events lists the events of an object. The API server keeps them for an hour by default, so earlier ones are missing.
func Events(ctx context.Context, r client.Reader, o client.Object) ([]corev1.Event, error) {
	var list corev1.EventList
	err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{eventsOf: string(o.GetUID())})
	if err != nil {
		return nil, fmt.Errorf("list events of %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	return list.Items, nil
}

// eventsOf is the field of an event with the UID of its object.
const eventsOf = "involvedObject.uid"

func each[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

// Read lists the objects of Each and returns them as a Cluster.
func Read(ctx context.Context, r client.Reader, c clock.Clock) (*Cluster, error) {
	seen := observe.New(c).From(empty())
	out := &Cluster{}
	err := Each(ctx, r, func(o client.Object) error {
		seen.Set(o)
		out.keep(o)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Snapshot = seen.Snapshot()
	return out, nil
}

// empty returns the Snapshot to which objects are added. It is not known which provider the controller uses, so deprecated
// labels of all providers of this program are replaced. DaemonSets whose pods have ResourceClaims count.
func empty() *model.Snapshot {
	return &model.Snapshot{
		Aliases:          apiv1.CoreLabels().With(awsv1.Labels(), kwokv1alpha1.Labels(), clusterapiv1alpha1.Labels()).Aliases,
		DynamicResources: true, // the settings of the controller, which may leave out DaemonSets, are read later
	}
}

// Each calls f with each object of the kinds that a Snapshot contains, and with each EC2NodeClass and NodeOverlay, one kind
// after another. It ends with the first error of f. Kinds that the API server does not serve are left out.
func Each(ctx context.Context, r client.Reader, f func(client.Object) error) error {
	for _, list := range []client.ObjectList{
		&apiv1.NodePoolList{}, &apiv1.NodeClaimList{}, &awsv1.EC2NodeClassList{}, &overlayv1alpha1.NodeOverlayList{},
		&corev1.NodeList{}, &corev1.PodList{}, &appsv1.DaemonSetList{}, &corev1.NamespaceList{},
		&policyv1.PodDisruptionBudgetList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{},
		&storagev1.StorageClassList{}, &storagev1.CSINodeList{},
	} {
		if err := r.List(ctx, list); err != nil {
			if meta.IsNoMatchError(err) {
				continue
			}
			return fmt.Errorf("list objects of kind %s: %w", api.Kind(list), err)
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			object, ok := o.(client.Object)
			if !ok {
				return fmt.Errorf("read %s: not an object", api.Kind(o))
			}
			return f(object)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keep stores the objects that are needed in addition to the snapshot.
func (c *Cluster) keep(o client.Object) {
	switch o := o.(type) {
	case *apiv1.NodePool:
		c.Pools = append(c.Pools, o)
	case *awsv1.EC2NodeClass:
		c.Classes = append(c.Classes, o)
	case *overlayv1alpha1.NodeOverlay:
		c.Overlays = append(c.Overlays, o)
	case *corev1.Node:
		c.Nodes = append(c.Nodes, o)
	}
}
