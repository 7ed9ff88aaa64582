package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// ClusterAPINodeClass configures nodes that are Machines of Cluster API. Each template is one instance type.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterapinodeclasses,scope=Cluster,categories=karpenter,shortName={capinc,capincs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the class can be used"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster of Cluster API to which the Machines belong"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the class was made"
type ClusterAPINodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state of the ClusterAPINodeClass.
	// +required
	Spec ClusterAPINodeClassSpec `json:"spec"`
	// Observed state of the ClusterAPINodeClass.
	// +optional
	Status ClusterAPINodeClassStatus `json:"status,omitempty"`
}

// ClusterAPINodeClassList is a list of ClusterAPINodeClasses.
//
// +kubebuilder:object:root=true
type ClusterAPINodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterAPINodeClass `json:"items"`
}

// ClusterAPINodeClassSpec selects the templates of Machines.
//
// +kubebuilder:validation:XValidation:message="set exactly one of machineDeploymentSelector and templates",rule="has(self.machineDeploymentSelector) != has(self.templates)"
type ClusterAPINodeClassSpec struct {
	// Name of the Cluster to which the Machines belong. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:message="clusterName cannot be changed",rule="self == oldSelf"
	// +required
	ClusterName string `json:"clusterName"`
	// Namespace of the Cluster, the templates and the Machines in the management cluster. It cannot be changed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:message="namespace cannot be changed",rule="self == oldSelf"
	// +required
	Namespace string `json:"namespace"`
	// Selects MachineDeployments of the Cluster by their labels. Each is used as a template: its own Machines and its
	// number of replicas are not changed. An empty selector selects all MachineDeployments of the Cluster.
	// +optional
	MachineDeploymentSelector *metav1.LabelSelector `json:"machineDeploymentSelector,omitempty"`
	// List of templates that are used instead of MachineDeployments.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	// +optional
	Templates []MachineTemplate `json:"templates,omitempty"`
	// Failure domains of the Cluster in which Machines may be created, with the zones of their nodes. Default: all
	// failure domains that the Cluster reports, each with a zone of the same name.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	// +optional
	FailureDomains []FailureDomain `json:"failureDomains,omitempty"`
	// Sources of prices, besides the annotation ext.karpenter.sh/price-per-hour and the file of the controller.
	// +optional
	Prices *Prices `json:"prices,omitempty"`
	// Regular expressions for reasons and messages of infrastructure failures which mean that there is no capacity.
	// They are used in addition to the built-in expressions. Case is ignored.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	CapacityErrors []string `json:"capacityErrors,omitempty"`
}

// A MachineTemplate describes the Machines of one instance type.
type MachineTemplate struct {
	// Name of the template, and value of the label node.kubernetes.io/instance-type.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?$`
	// +required
	Name string `json:"name"`
	// Kubernetes version of the node, for example v1.36.3.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Version string `json:"version,omitempty"`
	// Bootstrap configuration with which a machine becomes a node.
	// +required
	Bootstrap Bootstrap `json:"bootstrap"`
	// Template of the infrastructure provider, such as a DockerMachineTemplate.
	// +required
	InfrastructureRef TemplateReference `json:"infrastructureRef"`
	// Labels of the Machine. Cluster API copies those of node.cluster.x-k8s.io, node-restriction.kubernetes.io and
	// node-role.kubernetes.io to the node.
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the template. Those of capacity.cluster-autoscaler.kubernetes.io describe the resources, labels
	// and taints of the node. ext.karpenter.sh/price-per-hour is its price.
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// The only failure domain in which Machines of this template may be created. Default: all failure domains of the
	// class.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	FailureDomain string `json:"failureDomain,omitempty"`
}

// Bootstrap is how a machine becomes a node.
//
// +kubebuilder:validation:XValidation:message="set exactly one of configRef and dataSecretName",rule="has(self.configRef) != has(self.dataSecretName)"
type Bootstrap struct {
	// Template of the bootstrap provider, such as a KubeadmConfigTemplate.
	// +optional
	ConfigRef *TemplateReference `json:"configRef,omitempty"`
	// Name of a Secret with bootstrap data that all machines use.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	DataSecretName *string `json:"dataSecretName,omitempty"`
}

// A TemplateReference names a template in the namespace of the class.
type TemplateReference struct {
	// API group of the template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	APIGroup string `json:"apiGroup"`
	// Kind of the template. It ends in Template.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][a-zA-Z0-9]*Template$`
	// +required
	Kind string `json:"kind"`
	// Name of the template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// A FailureDomain is a failure domain of the Cluster.
type FailureDomain struct {
	// Name of the failure domain in the status of the Cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Name string `json:"name"`
	// Value of the label topology.kubernetes.io/zone of nodes in it. Default: the name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Zone string `json:"zone,omitempty"`
}

// Prices are sources of prices.
//
// +kubebuilder:validation:XValidation:message="set configMap or perResource or both of them",rule="has(self.configMap) || has(self.perResource)"
type Prices struct {
	// ConfigMap with the key prices.yaml, in the workload cluster.
	// +optional
	ConfigMap *ConfigMapReference `json:"configMap,omitempty"`
	// Prices of resources, for templates for which no price is found.
	// +optional
	PerResource *ResourcePrices `json:"perResource,omitempty"`
}

// A ConfigMapReference names a ConfigMap.
type ConfigMapReference struct {
	// Namespace of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// ResourcePrices are prices in dollars per hour.
type ResourcePrices struct {
	// Price of one CPU, for example 0.03.
	// +required
	CPU resource.Quantity `json:"cpu"`
	// Price of one GiB of memory, for example 0.004.
	// +required
	MemoryGiB resource.Quantity `json:"memoryGiB"`
	// Price of one GPU. If it is not set, the price of templates with GPUs is not known.
	// +optional
	GPU *resource.Quantity `json:"gpu,omitempty"`
}

// ClusterAPINodeClassStatus has the templates that were found, and conditions.
type ClusterAPINodeClassStatus struct {
	// Templates that can be used, sorted by name.
	// +listType=map
	// +listMapKey=name
	// +optional
	Templates []TemplateStatus `json:"templates,omitempty"`
	// Conditions of the ClusterAPINodeClass: ClusterReady, TemplatesReady, PricesKnown, and Ready, which depends on the first two.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TemplateStatus describes one template that was found.
type TemplateStatus struct {
	// Name of the template.
	Name string `json:"name"`
	// Kubernetes version of the nodes.
	// +optional
	Version string `json:"version,omitempty"`
	// Expected capacity of the nodes.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Taints with which the nodes join. Only NodePools that have the same taints use the template.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Zones with their prices.
	// +listType=map
	// +listMapKey=zone
	// +optional
	Zones []ZoneStatus `json:"zones,omitempty"`
}

// ZoneStatus is one zone of a template.
type ZoneStatus struct {
	// Value of the label topology.kubernetes.io/zone.
	Zone string `json:"zone"`
	// Price in dollars per hour. Absent if it is not known. Then no Machine is created in the zone.
	// +optional
	PricePerHour string `json:"pricePerHour,omitempty"`
	// Source of the price: Annotation, ConfigMap, File or PerResource.
	// +optional
	PriceSource string `json:"priceSource,omitempty"`
	// Time at which the price was read, as stated by its source. Absent if the source does not state it.
	// +optional
	PriceTime *metav1.Time `json:"priceTime,omitempty"`
}

// GetConditions implements condition.Object.
func (c *ClusterAPINodeClass) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements condition.Object.
func (c *ClusterAPINodeClass) SetConditions(list []metav1.Condition) { c.Status.Conditions = list }

// StatusConditions implements condition.Object.
func (c *ClusterAPINodeClass) StatusConditions() condition.Types {
	return condition.Types{
		Root: ConditionTypeReady, Dependents: []string{ConditionTypeClusterReady, ConditionTypeTemplatesReady},
	}
}
