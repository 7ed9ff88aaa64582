package model

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Pool is a NodePool with what its template says, compiled once when it enters the Snapshot.
type Pool struct {
	Name string
	// Object is shared and never changed.
	Object *apiv1.NodePool
	// Requirements are the template's requirements, its labels and the pool's own label.
	Requirements require.Set
	// Labels are the template's labels with the pool's own.
	Labels map[string]string
	// Taints are what pods must tolerate. Start-up taints are not among them: they go before pods come.
	Taints []corev1.Taint
	// Limits bound the sum of the capacity of the pool's nodes; nil means no bound.
	Limits Resources
	// Weight orders pools, highest first.
	Weight int32
}

// NewPool returns the model of o.
func NewPool(o *apiv1.NodePool) *Pool {
	labels := make(map[string]string, len(o.Spec.Template.Labels)+1)
	for k, v := range o.Spec.Template.Labels {
		labels[k] = v
	}
	labels[apiv1.NodePoolLabelKey] = o.Name
	p := &Pool{
		Name:         o.Name,
		Object:       o,
		Requirements: require.FromSpec(o.Spec.Template.Spec.Requirements).And(require.FromLabels(labels)),
		Labels:       labels,
		Taints:       o.Spec.Template.Spec.Taints,
	}
	if len(o.Spec.Limits) > 0 {
		p.Limits = CapacityOf(corev1.ResourceList(o.Spec.Limits))
	}
	if o.Spec.Weight != nil {
		p.Weight = *o.Spec.Weight
	}
	return p
}

// Static reports whether the pool keeps a fixed number of nodes and so launches none for pods.
func (p *Pool) Static() bool { return p.Object.Spec.Replicas != nil }

// Usable is a yes if the pool may launch nodes for pods, else says why not.
func (p *Pool) Usable() Verdict {
	switch {
	case p.Object.DeletionTimestamp != nil:
		return Verdict{Rule: RulePool, Subject: "is being deleted"}
	case p.Static():
		return Verdict{Rule: RulePool, Subject: "is static: replicas is set"}
	}
	for _, c := range p.Object.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return Verdict{}
		}
	}
	return Verdict{Rule: RulePool, Subject: "is not ready"}
}

// A Daemon is a DaemonSet: the pod that it will put on every node that takes it.
type Daemon struct {
	// Key is namespace/name.
	Key string
	// Object is shared and never changed.
	Object *appsv1.DaemonSet
	// Pod is made from the template. Limits stand in for requests that are missing, as the API server would have it.
	Pod *Pod
}

// NewDaemon returns the model of o.
func NewDaemon(o *appsv1.DaemonSet) *Daemon {
	pod := &corev1.Pod{ObjectMeta: *o.Spec.Template.ObjectMeta.DeepCopy(), Spec: *o.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = o.Namespace, o.Name
	RequestLimits(&pod.Spec)
	return &Daemon{Key: o.Namespace + "/" + o.Name, Object: o, Pod: NewPod(pod)}
}

// RequestLimits makes the pod of a template request what it limits and does not request, as the API server does when the
// pod is made.
func RequestLimits(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			request(&containers[i].Resources, containers[i].Resources.Limits)
		}
	}
}
