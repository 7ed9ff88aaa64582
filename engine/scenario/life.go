package scenario

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Life has the times of a node's claim, and its annotations.
type Life struct {
	// Age is the age of the claim at epoch. Expires is its expireAfter.
	Age     metav1.Duration `json:"age,omitempty"`
	Expires metav1.Duration `json:"expires,omitempty"`
	// Grace is the claim's terminationGracePeriod.
	Grace metav1.Duration `json:"grace,omitempty"`
	// Annotations are the annotations of the claim.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Planned are the requests of the pods that the claim was launched for.
	Planned corev1.ResourceList `json:"planned,omitempty"`
	// Since is how long before epoch the claim's conditions last changed.
	Since metav1.Duration `json:"since,omitempty"`
}

func (l Life) set(c *apiv1.NodeClaim) {
	c.CreationTimestamp = metav1.Time{Time: epoch.Add(-l.Age.Duration)}
	c.Annotations = maps.Clone(l.Annotations)
	c.Spec.Resources.Requests = l.Planned
	if l.Expires.Duration > 0 {
		c.Spec.ExpireAfter = apiv1.NillableDuration{Duration: &l.Expires.Duration}
	}
	if l.Grace.Duration > 0 {
		c.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: l.Grace.Duration}
	}
	for i := range c.Status.Conditions {
		c.Status.Conditions[i].LastTransitionTime = metav1.Time{Time: epoch.Add(-l.Since.Duration)}
	}
}

// Epoch returns the time of a scenario whose cluster.yaml has no field now.
func Epoch() time.Time { return epoch }

// A Budget is a PodDisruptionBudget that selects the pods with the labels. Allowed is its status.disruptionsAllowed. The other
// fields are those of its spec.
type Budget struct {
	Name    string            `json:"name"`
	Space   string            `json:"namespace,omitempty"` // default "default"
	Labels  map[string]string `json:"labels"`
	Allowed int32             `json:"allowed"`

	MaxUnavailable *intstr.IntOrString                      `json:"maxUnavailable,omitempty"`
	MinAvailable   *intstr.IntOrString                      `json:"minAvailable,omitempty"`
	Unhealthy      *policyv1.UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty"`
}

func (b Budget) object() *policyv1.PodDisruptionBudget {
	o := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: b.Space, Generation: 1}}
	if b.Space == "" {
		o.Namespace = "default"
	}
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: b.Labels}
	o.Spec.MaxUnavailable, o.Spec.MinAvailable, o.Spec.UnhealthyPodEvictionPolicy = b.MaxUnavailable, b.MinAvailable, b.Unhealthy
	o.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: b.Allowed}
	return o
}
