package scenario

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Driver is the CSI driver of scenarios that name no driver.
const Driver = "disks.example.com"

// A Namespace has the label kubernetes.io/metadata.name in addition to Labels.
type Namespace struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

// A Disk is a PersistentVolumeClaim. With Zones, it is bound to a volume that is accessible from these zones. Without
// Zones, it has no volume until its first pod is scheduled. One pod at a time uses it if Sole is set (ReadWriteOncePod). It
// is being deleted if Deleting is set.
type Disk struct {
	Name  string   `json:"name"`
	Space string   `json:"namespace,omitempty"` // default "default"
	Class string   `json:"class,omitempty"`
	Zones []string `json:"zones,omitempty"`
	Sole  bool     `json:"sole,omitempty"`

	Deleting bool `json:"deleting,omitempty"`
}

// A StorageClass creates volumes when the first pod is scheduled (WaitForFirstConsumer), unless Immediate is set.
// Volumes are accessible only from Zones; none means all zones.
type StorageClass struct {
	Name      string   `json:"name"`
	Driver    string   `json:"driver,omitempty"`
	Zones     []string `json:"zones,omitempty"`
	Immediate bool     `json:"immediate,omitempty"`
}

// A Service selects pods of its namespace.
type Service struct {
	Name     string            `json:"name"`
	Space    string            `json:"namespace,omitempty"` // default "default"
	Selector map[string]string `json:"selector"`
}

// ServiceObjects returns the services.
func (c *Cluster) ServiceObjects() []*corev1.Service {
	out := make([]*corev1.Service, len(c.Services))
	for i, s := range c.Services {
		out[i] = &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: cmp.Or(s.Space, "default")},
			Spec:       corev1.ServiceSpec{Selector: s.Selector},
		}
	}
	return out
}

// surround adds namespaces, PodDisruptionBudgets, storage classes, claims, volumes and CSINodes to d.
func (c *Cluster) surround(d *model.Delta) {
	for _, n := range c.Namespaces {
		labels := map[string]string{corev1.LabelMetadataName: n.Name}
		for key, v := range n.Labels {
			labels[key] = v
		}
		d.Namespaces = append(d.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels}})
	}
	for _, b := range c.Budgets {
		d.PDBs = append(d.PDBs, b.object())
	}
	for _, s := range c.Storage {
		d.StorageClasses = append(d.StorageClasses, s.object())
	}
	for _, k := range c.Disks {
		driver := Driver
		if i := slices.IndexFunc(c.Storage, func(s StorageClass) bool { return s.Name == k.Class }); i >= 0 {
			driver = cmp.Or(c.Storage[i].Driver, Driver)
		}
		k.add(d, driver)
	}
	for _, n := range c.Nodes {
		if len(n.Attach) > 0 && !n.Starting {
			d.CSINodes = append(d.CSINodes, n.csi())
		}
	}
}

func (s StorageClass) object() *storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	if s.Immediate {
		mode = storagev1.VolumeBindingImmediate
	}
	o := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: s.Name},
		Provisioner: cmp.Or(s.Driver, Driver), VolumeBindingMode: &mode,
	}
	if len(s.Zones) > 0 {
		o.AllowedTopologies = []corev1.TopologySelectorTerm{{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
				{Key: corev1.LabelTopologyZone, Values: s.Zones},
			},
		}}
	}
	return o
}

func (k Disk) add(d *model.Delta, driver string) {
	class := k.Class
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if k.Sole {
		modes[0] = corev1.ReadWriteOncePod
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: k.Name, Namespace: cmp.Or(k.Space, "default")},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	if k.Deleting {
		claim.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	d.VolumeClaims = append(d.VolumeClaims, claim)
	if len(k.Zones) == 0 {
		return
	}
	claim.Spec.VolumeName = "volume-" + claim.Namespace + "-" + k.Name
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	claim.Status.Phase = corev1.ClaimBound
	d.Volumes = append(d.Volumes, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class,
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: claim.Spec.VolumeName},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: k.Zones},
				}}},
			}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	})
}

// volumes returns the volumes for Mounts and Scratch, which are added to those of Spec.
func (p Pod) volumes() []corev1.Volume {
	var out []corev1.Volume
	for _, claim := range p.Mounts {
		out = append(out, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	if p.Scratch != "" {
		out = append(out, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &p.Scratch},
			}},
		}})
	}
	return out
}

// csi returns the CSINode of n, with the attach limit of each driver. A driver with a negative limit is listed without one.
func (n Node) csi() *storagev1.CSINode {
	o := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	for driver, count := range n.Attach {
		d := storagev1.CSINodeDriver{Name: driver, NodeID: n.Name, TopologyKeys: []string{corev1.LabelTopologyZone}}
		if count >= 0 {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: &count}
		}
		o.Spec.Drivers = append(o.Spec.Drivers, d)
	}
	slices.SortFunc(o.Spec.Drivers, func(a, b storagev1.CSINodeDriver) int { return cmp.Compare(a.Name, b.Name) })
	return o
}
