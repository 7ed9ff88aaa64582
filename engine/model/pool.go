package model

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Pool is a NodePool with its template converted to requirements, labels and taints. The conversion is made once,
// when the NodePool enters the Snapshot.
type Pool struct {
	Name string
	// Object is shared and must not be changed.
	Object *apiv1.NodePool
	// Requirements are the template's requirements, its labels and the pool's own label. Deprecated keys are replaced.
	Requirements require.Set
	// Labels are the labels of the template and the label of the NodePool. Their keys are those of the template.
	Labels map[string]string
	// Taints are the taints that pods must tolerate. Start-up taints are omitted, because they are removed before pods
	// are bound.
	Taints []corev1.Taint
	// Limits bound the sum of the capacity of the pool's nodes; nil means no bound.
	Limits Resources
	// Weight is the priority of the pool; pools with higher weight are tried first.
	Weight int32
}

// NewPool returns the Pool for o. aliases are as Snapshot.Aliases.
func NewPool(o *apiv1.NodePool, aliases map[string]string) *Pool {
	labels := make(map[string]string, len(o.Spec.Template.Labels)+1)
	maps.Copy(labels, o.Spec.Template.Labels)
	labels[apiv1.NodePoolLabelKey] = o.Name
	p := &Pool{
		Name:         o.Name,
		Object:       o,
		Requirements: normalize(require.FromSpec(o.Spec.Template.Spec.Requirements).And(require.FromLabels(labels)), aliases),
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

// Static reports whether the pool has a fixed number of nodes. Such a pool launches no nodes for pending pods.
func (p *Pool) Static() bool { return p.Object.Spec.Replicas != nil }

// Usable returns the reason why the pool cannot launch nodes for pods. The verdict is OK if it can.
func (p *Pool) Usable() Verdict {
	if p.Static() && p.Object.DeletionTimestamp == nil {
		return Verdict{Rule: RulePool, Cause: CauseStatic, By: *p.Object.Spec.Replicas}
	}
	return p.Ready()
}

// Ready returns a refusal if the pool is being deleted, or if its condition Ready is not True.
func (p *Pool) Ready() Verdict {
	if p.Object.DeletionTimestamp != nil {
		return Verdict{Rule: RulePool, Cause: CauseDeleting}
	}
	v := Verdict{Rule: RulePool, Cause: CauseNotReady, Hint: "kubectl describe nodepool " + p.Name + ", see the conditions"}
	if c := condition.Get(p.Object, "Ready"); c != nil {
		if c.Status == metav1.ConditionTrue {
			return Verdict{}
		}
		v.Subject = condition.Cause(p.Object)
	}
	return v
}

// A Daemon is a DaemonSet with the pod that it creates on each matching node.
type Daemon struct {
	// Key is namespace/name.
	Key string
	// Object is shared and must not be changed.
	Object *appsv1.DaemonSet
	// Pod is made from the template. As in the API server, a limit is used as the request if the request is missing.
	Pod *Pod
}

// NewDaemon returns the Daemon for o.
func NewDaemon(o *appsv1.DaemonSet) *Daemon {
	pod := &corev1.Pod{ObjectMeta: *o.Spec.Template.ObjectMeta.DeepCopy(), Spec: *o.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = o.Namespace, o.Name
	RequestLimits(&pod.Spec)
	return &Daemon{Key: o.Namespace + "/" + o.Name, Object: o, Pod: NewPod(pod)}
}

// RequestLimits sets each missing request of the pod's containers to the limit of the container, as the API server does
// when a pod is created.
func RequestLimits(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			request(&containers[i].Resources, containers[i].Resources.Limits)
		}
	}
}

// Mode returns which disruption the controller may execute in the pool: Auto, Approve or DryRun. It is the value of the
// pool's annotation, or the parameter global if the pool has no annotation. An empty value means Auto. An unknown value is
// treated as DryRun, because users set the annotation to restrict a pool.
func (p *Pool) Mode(global string) string {
	mode, ok := p.Object.Annotations[apiv1.EnforcementModeAnnotationKey]
	if !ok {
		mode = global
	}
	switch mode {
	case "", apiv1.ModeAuto:
		return apiv1.ModeAuto
	case apiv1.ModeApprove:
		return apiv1.ModeApprove
	}
	return apiv1.ModeDryRun
}
