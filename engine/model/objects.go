package model

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/table"
)

// Objects are the objects of a Snapshot by key: namespace/name, or the name alone for cluster-scoped kinds.
type Objects struct {
	Pods   table.Table[*Pod]
	Claims table.Table[*apiv1.NodeClaim]
	// NodeObjects are all Node objects, also those that Snapshot.Nodes omits because their claims count instead.
	NodeObjects table.Table[*corev1.Node]

	// The objects to which pods refer by name or selector. Nothing is computed from them in advance, because few pods
	// refer to them.
	Namespaces     table.Table[*corev1.Namespace]
	PDBs           table.Table[*policyv1.PodDisruptionBudget]
	VolumeClaims   table.Table[*corev1.PersistentVolumeClaim]
	Volumes        table.Table[*corev1.PersistentVolume]
	StorageClasses table.Table[*storagev1.StorageClass]
	CSINodes       table.Table[*storagev1.CSINode]

	pools   table.Table[*Pool]
	daemons table.Table[*Daemon]
	types   table.Table[[]*InstanceType] // by pool name
}
