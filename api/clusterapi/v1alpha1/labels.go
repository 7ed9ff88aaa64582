package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/sets"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Labels of instance types. Numbers are integers, so that Gt and Lt can be used.
const (
	// InstanceCPULabelKey is the number of CPUs.
	InstanceCPULabelKey = Group + "/instance-cpu"
	// InstanceMemoryLabelKey is the memory in MiB.
	InstanceMemoryLabelKey = Group + "/instance-memory"
	// InstanceGPUCountLabelKey is the number of GPUs. Types without GPUs do not have the label.
	InstanceGPUCountLabelKey = Group + "/instance-gpu-count"
)

// Labels and annotations of objects in the management cluster. The kinds of the objects are in parentheses. Clones of
// templates are the objects that are made from the infrastructure and bootstrap templates for a Machine.
const (
	// OwnerLabelKey (Machine, clones of templates) is the UID of the namespace kube-system of the workload cluster whose
	// controller created the object.
	OwnerLabelKey = Group + "/owner"
	// ClaimUIDLabelKey (Machine, clones of templates) is the UID of the NodeClaim for which the object was created.
	ClaimUIDLabelKey = Group + "/nodeclaim-uid"
	// ClaimAnnotationKey (Machine, clones of templates) is the name of the NodeClaim.
	ClaimAnnotationKey = Group + "/nodeclaim"
	// PriceAnnotationKey (MachineDeployment, infrastructure template) is the price of a machine in dollars per hour, as one number
	// or as a list by failure domain: a=0.10,b=0.12.
	PriceAnnotationKey = apiv1.ExtGroup + "/price-per-hour"
	// PriceTimeAnnotationKey (MachineDeployment, infrastructure template) is when the price was read, as 2026-11-01 or in RFC 3339.
	PriceTimeAnnotationKey = apiv1.ExtGroup + "/price-time"
)

// Annotations of NodeClaims.
const (
	// LaunchAnnotationKey is the record of the launch: the chosen template and failure domain. It is written before the
	// Machine is created.
	LaunchAnnotationKey = apiv1.ExtGroup + "/launch"
	// MachineAnnotationKey is the namespace and name of the claim's Machine.
	MachineAnnotationKey = Group + "/machine"
	// TemplateAnnotationKey describes the template from which the Machine was made. Drift is detected by comparing it
	// with the current template.
	TemplateAnnotationKey = Group + "/template"
)

// TerminationFinalizer prevents the deletion of a class while a NodeClaim uses it.
const TerminationFinalizer = Group + "/termination"

// Labels returns the label rules of the provider. Callers join them with
// apiv1.CoreLabels.
func Labels() apiv1.LabelRules {
	return apiv1.LabelRules{
		WellKnown:         sets.New(InstanceCPULabelKey, InstanceMemoryLabelKey, InstanceGPUCountLabelKey),
		RestrictedDomains: []string{Group},
	}
}
