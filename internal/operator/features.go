package operator

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-go/karpenter/internal/controller/nodeoverlay"
	"github.com/karpenter-go/karpenter/internal/observe/inputs"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// features are the optional features that are on. overlays and buffers are on if their feature gate is on, the API server serves their
// kind, and the controller may read it.
type features struct {
	// overlays and buffers are nil if the features NodeOverlay and CapacityBuffer are off.
	overlays *nodeoverlay.Overlays
	buffers  *capacitybuffer.Buffers
	// daemons is nil if LimitRanges may not be read.
	daemons *inputs.Daemons
	// spread is nil if kube-scheduler has no default spread constraints.
	spread *inputs.Spread
	// slices is true if nodes are initialized only after the drivers of their dynamic resources have published ResourceSlices.
	slices bool
}

// featuresOf returns the features that are on. It returns an error if the API server does not answer whether the controller may read the
// kinds that a feature needs. Otherwise an outage at the start would switch the feature off until the next start.
//
// A read of a kind from the cache blocks until the kind could be listed once. So nothing reads or watches a kind that the controller may
// not list and watch: the feature is off, or does without the kind.
func featuresOf(ctx context.Context, mgr ctrl.Manager, s *settings.Settings, log logr.Logger) (f features, err error) {
	gates, reader := s.FeatureGates, mgr.GetClient()
	may := func(feature string, resources ...schema.GroupResource) (readable sets.Set[schema.GroupResource]) {
		if err == nil {
			readable, err = mayWatch(ctx, reader, log.WithValues("feature", feature), resources...)
		}
		return readable
	}
	mayAll := func(feature string, resources ...schema.GroupResource) bool {
		return may(feature, resources...).HasAll(resources...)
	}
	if defaults := s.Scheduler.PodTopologySpread.DefaultConstraints; len(defaults) > 0 {
		f.spread = &inputs.Spread{Reader: reader, Constraints: defaults, Readable: may("scheduler-config", inputs.Workloads()...)}
	}
	if mayAll("LimitRanges of DaemonSet pods", schema.GroupResource{Resource: "limitranges"}) {
		f.daemons = &inputs.Daemons{Reader: reader}
	}
	if !s.IgnoreDRARequests && known(mgr, &resourcev1.ResourceSlice{}, log) {
		f.slices = mayAll("ignore-dra-requests=false", schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceslices"})
	}
	if gates.NodeOverlay && known(mgr, &overlayv1alpha1.NodeOverlay{}, log) &&
		mayAll("gate NodeOverlay", schema.GroupResource{Group: apiv1.Group, Resource: "nodeoverlays"}) {
		f.overlays = &nodeoverlay.Overlays{Reader: reader}
	}
	if gates.CapacityBuffer && known(mgr, &autoscalingv1beta1.CapacityBuffer{}, log) &&
		mayAll("gate CapacityBuffer", capacitybuffer.Resources()...) {
		f.buffers = &capacitybuffer.Buffers{
			Reader: reader, Quotas: mayAll("ResourceQuotas for CapacityBuffers", schema.GroupResource{Resource: "resourcequotas"}),
		}
	}
	return f, err
}

// mayWatch returns those of the resources that the controller may list and watch in all namespaces, and logs the others. Roles that were
// not made by the chart, or that were made for other settings, do not grant all permissions that this controller can use.
func mayWatch(
	ctx context.Context, c client.Client, log logr.Logger, resources ...schema.GroupResource,
) (sets.Set[schema.GroupResource], error) {
	readable := sets.New[schema.GroupResource]()
	for _, resource := range resources {
		allowed, err := mayWatchOne(ctx, c, log, resource)
		if err != nil {
			return nil, err
		}
		if allowed {
			readable.Insert(resource)
		}
	}
	return readable, nil
}

// mayWatchOne is mayWatch for one resource.
func mayWatchOne(ctx context.Context, c client.Client, log logr.Logger, resource schema.GroupResource) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: resource.Group, Resource: resource.Resource},
		}}
		if err := c.Create(ctx, review); err != nil {
			return false, fmt.Errorf("check permission to %s %s: %w", verb, resource, err)
		}
		if !review.Status.Allowed {
			log.Info("not authorized to list and watch a resource, continuing without it: grant both verbs and restart", "resource", resource.String())
			return false, nil
		}
	}
	return true, nil
}

// known reports whether the API server serves the kind of o. If not, only the feature that needs the kind is off.
func known(mgr ctrl.Manager, o client.Object, log logr.Logger) bool {
	gvk, err := mgr.GetClient().GroupVersionKindFor(o)
	if err == nil {
		_, err = mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		log.Error(err, "feature has no effect: the API server does not serve its kind; install the CustomResourceDefinition, or a version of Kubernetes that has "+
			"it, and restart", "kind", gvk.Kind)
	}
	return err == nil
}

// overlay returns the function that applies NodeOverlays to instance types, nil if the feature is off.
func (f features) overlay() cloud.Overlay {
	if f.overlays == nil {
		return nil
	}
	return f.overlays.Of
}

// offers returns the provider for the named controller, with NodeOverlays applied to its instance types.
func (b base) offers(controller string) cloud.Provider {
	if b.overlays == nil {
		return b.cloud(controller)
	}
	return b.overlays.Provider(b.cloud(controller))
}

// featured returns the controllers of the features that are on.
func (b base) featured() []Controller {
	var all []Controller
	if b.overlays != nil {
		all = append(all, &nodeoverlay.Controller{
			Client: b.Client, Clock: b.Clock, Cloud: b.cloud("nodeoverlay.controller"), Labels: b.labels,
		})
	}
	if b.buffers != nil {
		all = append(all, &capacitybuffer.Controller{Client: b.Client, Clock: b.Clock, Buffers: b.buffers, Cluster: b.cluster})
	}
	return all
}
