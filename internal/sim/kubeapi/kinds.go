package kubeapi

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Kind is one resource that the server has.
type Kind struct {
	schema.GroupVersionKind
	// Plural is its name in paths, such as "nodeclaims".
	Plural     string
	Namespaced bool
	// Status is true if status is a subresource: writes to the object itself leave its status alone.
	Status bool
	// Generation is true if the server counts changes of the spec in metadata.generation.
	Generation bool
	// Custom is true for the kinds of CRDs. The server drops their status when they are created.
	Custom bool
	// History limits Config.History for this kind, if it is not 0.
	History int
}

// Resource returns the kind's group, version and plural.
func (k Kind) Resource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Plural)
}

// BuiltIn are the kinds of Kubernetes that the server has.
func BuiltIn() []Kind {
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	return []Kind{
		{GroupVersionKind: core.WithKind("Namespace"), Plural: "namespaces", Status: true},
		{GroupVersionKind: core.WithKind("Node"), Plural: "nodes", Status: true},
		{GroupVersionKind: core.WithKind("Pod"), Plural: "pods", Namespaced: true, Status: true, Generation: true},
		{GroupVersionKind: core.WithKind("PersistentVolume"), Plural: "persistentvolumes", Status: true},
		{GroupVersionKind: core.WithKind("PersistentVolumeClaim"), Plural: "persistentvolumeclaims", Namespaced: true, Status: true},
		{GroupVersionKind: core.WithKind("ConfigMap"), Plural: "configmaps", Namespaced: true, History: 10}, // the decision log has up to 256 KiB
		{GroupVersionKind: core.WithKind("Service"), Plural: "services", Namespaced: true, Status: true},
		{GroupVersionKind: core.WithKind("Event"), Plural: "events", Namespaced: true},
		{GroupVersionKind: core.WithKind("PodTemplate"), Plural: "podtemplates", Namespaced: true, Generation: true},
		{GroupVersionKind: core.WithKind("LimitRange"), Plural: "limitranges", Namespaced: true},
		{GroupVersionKind: core.WithKind("ResourceQuota"), Plural: "resourcequotas", Namespaced: true, Status: true},
		{GroupVersionKind: core.WithKind("ReplicationController"), Plural: "replicationcontrollers", Namespaced: true, Status: true},
		{GroupVersionKind: apps.WithKind("Deployment"), Plural: "deployments", Namespaced: true, Status: true, Generation: true},
		{GroupVersionKind: apps.WithKind("ReplicaSet"), Plural: "replicasets", Namespaced: true, Status: true, Generation: true},
		{GroupVersionKind: apps.WithKind("StatefulSet"), Plural: "statefulsets", Namespaced: true, Status: true, Generation: true},
		{GroupVersionKind: apps.WithKind("DaemonSet"), Plural: "daemonsets", Namespaced: true, Status: true, Generation: true},
		{GroupVersionKind: batchv1.SchemeGroupVersion.WithKind("Job"), Plural: "jobs", Namespaced: true, Status: true, Generation: true},
		{
			GroupVersionKind: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Plural: "poddisruptionbudgets",
			Namespaced: true, Status: true, Generation: true,
		},
		{GroupVersionKind: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), Plural: "priorityclasses"},
		{GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("StorageClass"), Plural: "storageclasses"},
		{GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("CSINode"), Plural: "csinodes"},
		{GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"), Plural: "volumeattachments", Status: true},
		{GroupVersionKind: coordinationv1.SchemeGroupVersion.WithKind("Lease"), Plural: "leases", Namespaced: true},
	}
}
