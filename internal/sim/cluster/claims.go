package cluster

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// Driver is the CSI driver of the cluster.
const Driver = "ebs.csi.aws.com"

// claim provisions the volume of a claim and binds it. The zone is that of the node that the scheduler selected, if the
// StorageClass waits for the first consumer, or else one that anyZone draws.
func (v *Volumes) claim(now time.Time, r ref) (time.Time, error) {
	claim, ok := kubeapi.Find[*corev1.PersistentVolumeClaim](v.c.server, r.namespace, r.name)
	if !ok || claim.Status.Phase == corev1.ClaimBound || claim.DeletionTimestamp != nil {
		return time.Time{}, nil
	}
	if claim.Spec.VolumeName != "" {
		return time.Time{}, v.bindNamed(claim)
	}
	class, ok := kubeapi.Find[*storagev1.StorageClass](v.c.server, "", volume.GetPersistentVolumeClaimClass(claim))
	if !ok {
		return time.Time{}, nil
	}
	zone := ""
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		selected := claim.Annotations[volume.AnnSelectedNode]
		if selected == "" {
			return time.Time{}, nil
		}
		node, exists := kubeapi.Find[*corev1.Node](v.c.server, "", selected)
		if !exists || !allowedZone(class, node.Labels[corev1.LabelTopologyZone]) {
			return time.Time{}, v.unselect(claim)
		}
		zone = node.Labels[corev1.LabelTopologyZone]
	} else if zone = v.anyZone(claim, class); zone == "" {
		return time.Time{}, nil
	}
	at, known := v.provisioned[claim.UID]
	if !known {
		at = now.Add(between(time.Second, 3*time.Second, v.c.seed, string(claim.UID), "provision"))
		v.provisioned[claim.UID] = at
	}
	if now.Before(at) {
		return at, nil
	}
	delete(v.provisioned, claim.UID)
	pv, err := kubeapi.Create(v.c.server, volumeFor(claim, class, zone))
	if err != nil {
		return time.Time{}, err
	}
	return time.Time{}, v.bind(claim, pv)
}

// unselect removes the selected node from the claim, so that the scheduler selects another one.
func (v *Volumes) unselect(claim *corev1.PersistentVolumeClaim) error {
	claim = claim.DeepCopy()
	delete(claim.Annotations, volume.AnnSelectedNode)
	delete(v.provisioned, claim.UID)
	_, err := kubeapi.Update(v.c.server, claim)
	return err
}

// allowedZone reports whether a class allows volumes in a zone.
func allowedZone(class *storagev1.StorageClass, zone string) bool {
	zones, limited := zonesOf(class)
	return !limited || slices.Contains(zones, zone)
}

// zonesOf returns the zones that a class allows, and whether it limits them.
func zonesOf(class *storagev1.StorageClass) (zones []string, limited bool) {
	for _, term := range class.AllowedTopologies {
		for _, e := range term.MatchLabelExpressions {
			if e.Key == corev1.LabelTopologyZone || e.Key == "topology.ebs.csi.aws.com/zone" {
				zones, limited = append(zones, e.Values...), true
			}
		}
	}
	return zones, limited
}

// anyZone returns the zone of a volume that is provisioned before its pod is scheduled: one of those that the class allows,
// or of the nodes if it allows all; empty if there is none.
func (v *Volumes) anyZone(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) string {
	zones, limited := zonesOf(class)
	if !limited {
		for _, node := range kubeapi.List[*corev1.Node](v.c.server) {
			if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
				zones = append(zones, zone)
			}
		}
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	if len(zones) == 0 {
		return ""
	}
	return zones[int(draw(v.c.seed, string(claim.UID), "zone")*float64(len(zones)))]
}

// volumeFor returns the volume of a claim in a zone.
func volumeFor(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, zone string) *corev1.PersistentVolume {
	policy := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	name := "pvc-" + string(claim.UID)
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{volume.AnnDynamicallyProvisioned: class.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes, StorageClassName: class.Name, PersistentVolumeReclaimPolicy: policy, VolumeMode: claim.Spec.VolumeMode,
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: name}},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	}
	if zone != "" {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}}
	}
	return pv
}

// bindNamed binds a claim to the volume that it names, if that exists and is not the volume of another claim.
func (v *Volumes) bindNamed(claim *corev1.PersistentVolumeClaim) error {
	pv, ok := kubeapi.Find[*corev1.PersistentVolume](v.c.server, "", claim.Spec.VolumeName)
	if !ok || pv.Spec.ClaimRef != nil && (pv.Spec.ClaimRef.Namespace != claim.Namespace || pv.Spec.ClaimRef.Name != claim.Name) {
		return nil
	}
	return v.bind(claim, pv)
}

// bind binds a claim and a volume to each other.
func (v *Volumes) bind(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	claim, pv = claim.DeepCopy(), pv.DeepCopy()
	pv.Spec.ClaimRef = &corev1.ObjectReference{
		APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	}
	stored, err := kubeapi.Update(v.c.server, pv)
	if err != nil {
		return err
	}
	pv = stored.DeepCopy()
	pv.Status.Phase = corev1.VolumeBound
	if _, err := kubeapi.UpdateStatus(v.c.server, pv); err != nil {
		return err
	}
	claim.Spec.VolumeName = pv.Name
	claim.Annotations = maps.Clone(claim.Annotations)
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[volume.AnnBindCompleted], claim.Annotations[volume.AnnBoundByController] = "yes", "yes"
	bound, err := kubeapi.Update(v.c.server, claim)
	if err != nil {
		return err
	}
	claim = bound.DeepCopy()
	claim.Status.Phase, claim.Status.AccessModes, claim.Status.Capacity = corev1.ClaimBound, pv.Spec.AccessModes, pv.Spec.Capacity
	_, err = kubeapi.UpdateStatus(v.c.server, claim)
	return err
}

// volume releases or deletes the volume of a claim that was deleted. For a volume without a claim, it marks the claims that
// wait for a volume with its name as changed, so that they are bound.
func (v *Volumes) volume(_ time.Time, r ref) (time.Time, error) {
	pv, ok := kubeapi.Find[*corev1.PersistentVolume](v.c.server, "", r.name)
	if !ok {
		return time.Time{}, nil
	}
	if pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID == "" {
		for _, claim := range kubeapi.List[*corev1.PersistentVolumeClaim](v.c.server) {
			if claim.Spec.VolumeName == pv.Name && claim.Status.Phase == corev1.ClaimPending {
				v.changed("PersistentVolumeClaim", claim.Namespace, claim.Name)
			}
		}
		return time.Time{}, nil
	}
	if v.c.uids[pv.Spec.ClaimRef.UID] || pv.Status.Phase != corev1.VolumeBound {
		return time.Time{}, nil
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		return time.Time{}, kubeapi.Delete(v.c.server, pv)
	}
	pv = pv.DeepCopy()
	pv.Status.Phase = corev1.VolumeReleased
	_, err := kubeapi.UpdateStatus(v.c.server, pv)
	return time.Time{}, err
}
