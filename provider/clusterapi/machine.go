package clusterapi

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
)

// coreGroup is the API group of Cluster API. coreVersion is the version that this package reads and writes.
const (
	coreGroup   = "cluster.x-k8s.io"
	coreVersion = "v1beta2"
)

// Labels and annotations of Cluster API.
const (
	clusterNameLabel      = coreGroup + "/cluster-name"
	pausedAnnotation      = coreGroup + "/paused"
	clonedFromName        = coreGroup + "/cloned-from-name"
	clonedFromGroupKind   = coreGroup + "/cloned-from-groupkind"
	interruptibleLabel    = coreGroup + "/interruptible"
	uninitializedTaintKey = "node.cluster.x-k8s.io/uninitialized"
	// drainedByKarpenter makes Cluster API leave the drain of the node to Karpenter.
	drainedByKarpenter = "machine.cluster.x-k8s.io/exclude-node-draining"
	// detachedByKarpenter makes Cluster API leave the wait for the detachment of volumes to Karpenter.
	detachedByKarpenter = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"
	// endHook makes Cluster API wait before it deletes the infrastructure of a Machine, until the annotation is
	// removed.
	endHook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/karpenter"
)

// gvk returns the kind of Cluster API with this name.
func gvk(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: coreGroup, Version: coreVersion, Kind: kind}
}

// An objectMeta has the fields of an object's metadata that this package uses.
type objectMeta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	CreationTimestamp metav1.Time       `json:"creationTimestamp"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
}

// A reference names an object in the same namespace.
type reference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

func (r reference) set() bool { return r.Kind != "" && r.Name != "" }

// groupKind returns the kind to which r refers.
func (r reference) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.APIGroup, Kind: r.Kind}
}

// A machine is a Machine with the fields that this package uses.
type machine struct {
	Metadata objectMeta    `json:"metadata"`
	Spec     machineSpec   `json:"spec"`
	Status   machineStatus `json:"status"`
}

type machineSpec struct {
	ClusterName string `json:"clusterName"`
	Bootstrap   struct {
		ConfigRef      reference `json:"configRef"`
		DataSecretName *string   `json:"dataSecretName"`
	} `json:"bootstrap"`
	InfrastructureRef reference `json:"infrastructureRef"`
	Version           string    `json:"version"`
	ProviderID        string    `json:"providerID"`
	FailureDomain     string    `json:"failureDomain"`
	Taints            []taint   `json:"taints"`
}

type taint struct {
	Key    string             `json:"key"`
	Value  string             `json:"value"`
	Effect corev1.TaintEffect `json:"effect"`
}

type machineStatus struct {
	Conditions []metav1.Condition `json:"conditions"`
	NodeRef    struct {
		Name string `json:"name"`
	} `json:"nodeRef"`
	FailureDomain string `json:"failureDomain"`
	Deprecated    struct {
		V1Beta1 failure `json:"v1beta1"`
	} `json:"deprecated"`
}

// A failure has the deprecated fields in which older infrastructure providers report a failure.
type failure struct {
	Reason  string `json:"failureReason"`
	Message string `json:"failureMessage"`
}

// condition returns the condition of the Machine with this type, or a condition with an empty status if there is none.
func (m *machine) condition(kind string) metav1.Condition {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// class returns the name of the node class for which the Machine was created, empty if it is not known.
func (m *machine) class() string { return m.Metadata.Labels[classLabel] }

// classesOf returns the name of the node class of each Machine, in the order of machines.
func classesOf(machines []*machine) []string {
	out := make([]string, len(machines))
	for n, m := range machines {
		out[n] = m.class()
	}
	return out
}

func (m *machine) ending() bool { return m.Metadata.DeletionTimestamp != nil }

// created returns the time of the creation in UTC.
func (m *machine) created() time.Time { return m.Metadata.CreationTimestamp.UTC() }

// A clusterObject is a Cluster with the fields that this package uses.
type clusterObject struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Paused bool `json:"paused"`
	} `json:"spec"`
	Status struct {
		FailureDomains []struct {
			Name string `json:"name"`
		} `json:"failureDomains"`
	} `json:"status"`
}

// A deployment is a MachineDeployment with the fields that this package uses.
type deployment struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		ClusterName string               `json:"clusterName"`
		Selector    metav1.LabelSelector `json:"selector"`
		Template    struct {
			Metadata objectMeta  `json:"metadata"`
			Spec     machineSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// An infraTemplate is an infrastructure template with the fields that this package uses.
type infraTemplate struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Template struct {
			Metadata objectMeta     `json:"metadata"`
			Spec     map[string]any `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Capacity map[string]any `json:"capacity"`
		NodeInfo struct {
			Architecture    string `json:"architecture"`
			OperatingSystem string `json:"operatingSystem"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// decode converts an unstructured object to a T.
func decode[T any](u *unstructured.Unstructured) (*T, error) {
	var out T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &out); err != nil {
		return nil, fmt.Errorf("decode %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	return &out, nil
}

// empty returns an empty object of the kind.
func empty(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}

// emptyList returns an empty list of the kind.
func emptyList(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	kind.Kind += "List"
	u.SetGroupVersionKind(kind)
	return u
}

// belongsTo reports whether the object was created for the claim with this UID.
func belongsTo(labels map[string]string, uid string) bool {
	return uid != "" && labels[clusterapiv1alpha1.ClaimUIDLabelKey] == uid
}
