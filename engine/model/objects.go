package model

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// surroundings are objects to which pods refer by name or selector. No values are derived from them in advance, because
// few pods refer to them and a lookup is cheap.
type surroundings struct {
	namespaces table[*corev1.Namespace]
	pdbs       table[*policyv1.PodDisruptionBudget]
	claims     table[*corev1.PersistentVolumeClaim]
	volumes    table[*corev1.PersistentVolume]
	classes    table[*storagev1.StorageClass]
	csiNodes   table[*storagev1.CSINode]
}

// Namespace returns the namespace with the name.
func (s *Snapshot) Namespace(name string) (*corev1.Namespace, bool) {
	return s.raw.around.namespaces.get(name)
}

// Namespaces returns all namespaces in name order.
func (s *Snapshot) Namespaces() []*corev1.Namespace { return s.raw.around.namespaces.values() }

// PDBs returns all PodDisruptionBudgets in key order.
func (s *Snapshot) PDBs() []*policyv1.PodDisruptionBudget { return s.raw.around.pdbs.values() }

// CSINode returns the CSINode of the node with the name.
func (s *Snapshot) CSINode(name string) (*storagev1.CSINode, bool) {
	return s.raw.around.csiNodes.get(name)
}

// VolumeClaim returns the PersistentVolumeClaim with the key namespace/name.
func (s *Snapshot) VolumeClaim(key string) (*corev1.PersistentVolumeClaim, bool) {
	return s.raw.around.claims.get(key)
}

// Volume returns the PersistentVolume with the name.
func (s *Snapshot) Volume(name string) (*corev1.PersistentVolume, bool) {
	return s.raw.around.volumes.get(name)
}

// StorageClass returns the storage class with the name.
func (s *Snapshot) StorageClass(name string) (*storagev1.StorageClass, bool) {
	return s.raw.around.classes.get(name)
}
