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

// surroundingsEdit is a draft of surroundings.
type surroundingsEdit struct {
	namespaces *draft[*corev1.Namespace]
	pdbs       *draft[*policyv1.PodDisruptionBudget]
	claims     *draft[*corev1.PersistentVolumeClaim]
	volumes    *draft[*corev1.PersistentVolume]
	classes    *draft[*storagev1.StorageClass]
	csiNodes   *draft[*storagev1.CSINode]
}

func (a surroundings) edit() *surroundingsEdit {
	return &surroundingsEdit{
		namespaces: a.namespaces.edit(), pdbs: a.pdbs.edit(), claims: a.claims.edit(),
		volumes: a.volumes.edit(), classes: a.classes.edit(), csiNodes: a.csiNodes.edit(),
	}
}

func (e *surroundingsEdit) set(d *Delta) {
	for _, o := range d.Namespaces {
		e.namespaces.set(o.Name, o)
	}
	for _, o := range d.PDBs {
		e.pdbs.set(o.Namespace+"/"+o.Name, o)
	}
	for _, o := range d.VolumeClaims {
		e.claims.set(o.Namespace+"/"+o.Name, o)
	}
	for _, o := range d.Volumes {
		e.volumes.set(o.Name, o)
	}
	for _, o := range d.StorageClasses {
		e.classes.set(o.Name, o)
	}
	for _, o := range d.CSINodes {
		e.csiNodes.set(o.Name, o)
	}
}

func (e *surroundingsEdit) remove(r Ref) {
	switch r.Kind {
	case KindNamespace:
		e.namespaces.remove(r.Key)
	case KindPDB:
		e.pdbs.remove(r.Key)
	case KindVolumeClaim:
		e.claims.remove(r.Key)
	case KindVolume:
		e.volumes.remove(r.Key)
	case KindStorageClass:
		e.classes.remove(r.Key)
	case KindCSINode:
		e.csiNodes.remove(r.Key)
	}
}

func (e *surroundingsEdit) freeze() surroundings {
	return surroundings{
		namespaces: e.namespaces.freeze(), pdbs: e.pdbs.freeze(), claims: e.claims.freeze(),
		volumes: e.volumes.freeze(), classes: e.classes.freeze(), csiNodes: e.csiNodes.freeze(),
	}
}
