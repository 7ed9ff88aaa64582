package metrics

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// newObject returns an empty object of the kind.
func newObject(s *runtime.Scheme, kind schema.GroupVersionKind) (client.Object, error) {
	if !s.Recognizes(kind) { // a node class of a provider in another process
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		return u, nil
	}
	o, err := s.New(kind)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", kind.Kind, err)
	}
	object, ok := o.(client.Object)
	if !ok {
		return nil, fmt.Errorf("kind %s is not an object", kind.Kind)
	}
	return object, nil
}

// conditionsOf returns the conditions of an object. It converts those of nodes, which have another type.
func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case condition.Object:
		return o.GetConditions()
	case *unstructured.Unstructured:
		return condition.OfUnstructured(o).GetConditions()
	case *autoscalingv1beta1.CapacityBuffer:
		return o.Status.Conditions
	case *corev1.Node:
		list := make([]metav1.Condition, 0, len(o.Status.Conditions))
		for _, c := range o.Status.Conditions {
			list = append(list, metav1.Condition{
				Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
				LastTransitionTime: c.LastTransitionTime,
			})
		}
		return list
	}
	return nil
}

// labels are the names of an object's NodePool and node class, empty if the object has none.
type labels struct{ pool, class string }

// labelsOf returns the NodePool and node class that the labels of a claim or node contain.
func labelsOf(o client.Object, classes []schema.GroupVersionKind) labels {
	l := labels{pool: o.GetLabels()[apiv1.NodePoolLabelKey]}
	for _, gvk := range classes {
		if name := o.GetLabels()[gvk.Group+"/"+lower(gvk.Kind)]; name != "" {
			l.class = name
		}
	}
	return l
}

// published reports whether a change of a condition is published as an event. Of a Node it is only if a NodePool owns the Node and
// the condition existed before, within the limit nodeEvents. The first statuses of conditions are left out, because each new Node gets
// several at once.
func (c *Conditions) published(o client.Object, existed bool) bool {
	if _, ok := o.(*corev1.Node); ok {
		return existed && o.GetLabels()[apiv1.NodePoolLabelKey] != "" && c.nodes.AllowN(c.clock.Now(), 1)
	}
	return true
}

// tellEvent publishes an event about a changed condition. Events with different statuses or reasons are not equal, so a status
// that returns within a short time is published.
func (c *Conditions) tellEvent(o client.Object, from string, now metav1.Condition) {
	message := fmt.Sprintf("%s was %s and is %s", now.Type, from, now.Status)
	if now.Reason != "" && now.Reason != now.Type {
		message += ": " + now.Reason
	}
	if now.Message != "" && now.Message != now.Reason {
		message += ": " + now.Message
	}
	c.events.Publish(telemetry.Event{
		Object: o, Type: corev1.EventTypeNormal, Reason: now.Type, Message: message,
		Dedupe: []string{string(o.GetUID()), string(now.Status), now.Reason},
	})
}

// tellFinalized publishes an event after the deletion of an object has ended. The object no longer exists, so the event refers to
// its name and UID.
func (c *Conditions) tellFinalized(key types.NamespacedName, s sight) {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: s.uid,
	}}
	o.SetGroupVersionKind(c.kind)
	c.events.Publish(telemetry.Event{
		Object: o, Type: corev1.EventTypeNormal, Reason: telemetry.EventFinalized,
		Message: fmt.Sprintf("Finalized %s %s", c.kind.Kind, key.Name),
	})
}
