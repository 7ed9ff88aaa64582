package operator

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-go/karpenter/internal/controller/nodeoverlay"
	"github.com/karpenter-go/karpenter/internal/observe/inputs"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// features are the optional features that are on. overlays and buffers are on if their feature gate is on and the API
// server serves their kind.
type features struct {
	// overlays and buffers are nil if the features NodeOverlay and CapacityBuffer are off.
	overlays *nodeoverlay.Overlays
	buffers  *capacitybuffer.Buffers
	// daemons is nil if LimitRanges may not be read.
	daemons *inputs.Daemons
	// spread is nil if kube-scheduler has no default spread constraints.
	spread *inputs.Spread
}

// featuresOf returns the features that are on. It returns an error if the API server does not answer whether the controller may read the
// kinds that a feature needs. Otherwise an outage at the start would switch the feature off until the next start.
func featuresOf(ctx context.Context, mgr ctrl.Manager, s *settings.Settings, log logr.Logger) (f features, err error) {
	gates := s.FeatureGates
	if defaults := s.Scheduler.PodTopologySpread.DefaultConstraints; len(defaults) > 0 {
		services, err := mayWatch(ctx, mgr.GetClient(), "services", log)
		if err != nil {
			return f, err
		}
		f.spread = &inputs.Spread{Reader: mgr.GetClient(), Constraints: defaults, Services: services}
	}
	limits, err := mayWatch(ctx, mgr.GetClient(), "limitranges", log)
	if err != nil {
		return f, err
	}
	if limits {
		f.daemons = &inputs.Daemons{Reader: mgr.GetClient()}
	}
	if gates.NodeOverlay && known(mgr, &overlayv1alpha1.NodeOverlay{}, log) {
		f.overlays = &nodeoverlay.Overlays{Reader: mgr.GetClient()}
	}
	if gates.CapacityBuffer && known(mgr, &autoscalingv1beta1.CapacityBuffer{}, log) {
		quotas, err := mayWatch(ctx, mgr.GetClient(), "resourcequotas", log)
		if err != nil {
			return f, err
		}
		f.buffers = &capacitybuffer.Buffers{Reader: mgr.GetClient(), Quotas: quotas}
	}
	return f, nil
}

// mayWatch reports whether the controller may list and watch a core resource in all namespaces. Charts of upstream
// Karpenter do not grant all permissions that this controller can use.
func mayWatch(ctx context.Context, c client.Client, resource string, log logr.Logger) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource},
		}}
		if err := c.Create(ctx, review); err != nil {
			return false, fmt.Errorf("check permission to %s %s: %w", verb, resource, err)
		}
		if !review.Status.Allowed {
			log.Info("not authorized to list and watch a resource, continuing without it", "resource", resource)
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
		log.Error(err, "feature gate has no effect: install the CustomResourceDefinition and restart", "kind", gvk.Kind)
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
