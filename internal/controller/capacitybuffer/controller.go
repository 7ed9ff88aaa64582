package capacitybuffer

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/engine/buffer"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
)

// A Controller writes the status of every buffer.
type Controller struct {
	Client  client.Client
	Clock   clock.PassiveClock
	Buffers *Buffers
	Cluster Cluster
}

// Cluster is implemented by observe.Cluster.
type Cluster interface {
	Snapshot() *model.Snapshot
	// Wake starts the next round of provisioning.
	Wake()
}

const (
	workers = 10
	// settled is the reconcile interval of a buffer without virtual pods or whose virtual pods all fit on nodes. unsettled is
	// that of any other buffer.
	settled   = 30 * time.Second
	unsettled = 2 * time.Second
)

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "capacitybuffer" }

// Resources returns the resources that the controller watches. It does not work without the permission to list and watch them all.
func Resources() []schema.GroupResource {
	return []schema.GroupResource{
		{Group: autoscalingv1beta1.GroupVersion.Group, Resource: "capacitybuffers"}, {Resource: "podtemplates"},
		{Group: appsv1.GroupName, Resource: "deployments"}, {Group: appsv1.GroupName, Resource: "statefulsets"},
		{Group: appsv1.GroupName, Resource: "replicasets"},
	}
}

// Register adds the controller to mgr. It watches buffers and the objects that they reference.
func (c *Controller) Register(mgr ctrl.Manager) error {
	ofSpec := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	b := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).For(&autoscalingv1beta1.CapacityBuffer{}, ofSpec).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	for _, o := range []client.Object{&corev1.PodTemplate{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.ReplicaSet{}} {
		b.Watches(o, handler.EnqueueRequestsFromMapFunc(c.namedBy), ofSpec)
	}
	if err := b.Complete(c); err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// namedBy maps an object to the buffers that reference it.
func (c *Controller) namedBy(ctx context.Context, o client.Object) []reconcile.Request {
	var buffers autoscalingv1beta1.CapacityBufferList
	if err := c.Client.List(ctx, &buffers, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to list CapacityBuffers")
		return nil
	}
	_, template := o.(*corev1.PodTemplate)
	var out []reconcile.Request
	for i := range buffers.Items {
		spec := buffers.Items[i].Spec
		if template && spec.PodTemplateRef != nil && spec.PodTemplateRef.Name == o.GetName() ||
			!template && spec.ScalableRef != nil && spec.ScalableRef.Name == o.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&buffers.Items[i])})
		}
	}
	return out
}

// Reconcile resolves one buffer, writes its status, and wakes provisioning if its virtual pods have changed.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var o autoscalingv1beta1.CapacityBuffer
	if err := c.Client.Get(ctx, req.NamespacedName, &o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !o.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	src, err := c.Buffers.rationed(ctx, &o)
	if err != nil {
		return ctrl.Result{}, err
	}
	pods, after := buffer.Pods(&o, src), o.DeepCopy()
	after.Status = buffer.Status(&o, src, pods, c.Cluster.Snapshot().At(c.Clock.Now()))
	if changed(o.Status, after.Status) {
		c.Cluster.Wake()
	}
	if err := act.PatchStatus(ctx, c.Client, &o, after); err != nil && !act.Conflict(err) {
		return ctrl.Result{}, err
	}
	if len(pods) > 0 && !hasRoom(after) {
		return ctrl.Result{RequeueAfter: unsettled}, nil
	}
	return ctrl.Result{RequeueAfter: settled}, nil
}

// changed reports whether the number of virtual pods or the generation of their template has changed.
func changed(before, after autoscalingv1beta1.CapacityBufferStatus) bool {
	return !equality.Semantic.DeepEqual(before.Replicas, after.Replicas) ||
		!equality.Semantic.DeepEqual(before.PodTemplateGeneration, after.PodTemplateGeneration)
}

// hasRoom reports whether all virtual pods of the buffer fit on nodes.
func hasRoom(o *autoscalingv1beta1.CapacityBuffer) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == autoscalingv1beta1.ConditionTypeProvisioning {
			return c.Reason == autoscalingv1beta1.ReasonFitsExistingCapacity
		}
	}
	return false
}
