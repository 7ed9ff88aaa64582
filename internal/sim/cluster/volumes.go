package cluster

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// forceDetachAfter is how long a volume remains attached to a node whose kubelet is silent, after its pod was removed.
const forceDetachAfter = 6 * time.Minute

// Volumes does what the volume controllers and a CSI driver do.
type Volumes struct {
	*Actor
	c          *Cluster
	limit      int32
	localDisks func(instanceType string) int
	// unused is when an attachment was first seen without a pod that uses its volume.
	unused map[types.UID]time.Time
	// provisioned is when the volume of a claim will exist, by the UID of the claim.
	provisioned map[types.UID]time.Time
}

func newVolumes(c *Cluster, limit int32, localDisks func(string) int) *Volumes {
	v := &Volumes{
		Actor: newActor("volumes", c), c: c, limit: limit, localDisks: localDisks,
		unused: map[types.UID]time.Time{}, provisioned: map[types.UID]time.Time{},
	}
	v.reconcilers = map[string]reconcile{
		"PersistentVolumeClaim": v.claim, "PersistentVolume": v.volume, "VolumeAttachment": v.attachment, "Pod": v.pod, "Node": v.node,
		"StorageClass": v.class,
	}
	return v
}

// observe marks the objects that a change concerns besides the changed object itself.
func (v *Volumes) observe(before, after client.Object) {
	for _, version := range []client.Object{before, after} {
		switch o := version.(type) {
		case *corev1.Pod:
			v.attachmentsOf(o.Spec.NodeName)
		case *corev1.Node:
			v.attachmentsOf(o.Name)
		case *corev1.PersistentVolumeClaim:
			v.changed("PersistentVolume", "", o.Spec.VolumeName)
			if after == nil {
				delete(v.provisioned, o.UID)
			}
			for r := range v.c.claiming[ref{"PersistentVolumeClaim", o.Namespace, o.Name}] {
				v.changed(r.kind, r.namespace, r.name)
				v.c.Kubelets.changed(r.kind, r.namespace, r.name)
			}
		case *storagev1.VolumeAttachment:
			if after == nil {
				delete(v.unused, o.UID)
			}
			for r := range v.c.pods[o.Spec.NodeName] {
				v.c.Kubelets.changed(r.kind, r.namespace, r.name)
			}
			if name := o.Spec.Source.PersistentVolumeName; name != nil && after == nil {
				v.waiting(*name)
			}
		}
	}
}

// attachmentsOf marks the attachments of a node.
func (v *Volumes) attachmentsOf(node string) {
	for r := range v.c.attachments[node] {
		v.dirty[r] = true
	}
}

// waiting marks all attachments of a volume. One of them may wait until the volume is detached from another node.
func (v *Volumes) waiting(pv string) {
	for _, set := range v.c.attachments {
		for r := range set {
			if a, ok := v.c.objects[r].(*storagev1.VolumeAttachment); ok && a.Spec.Source.PersistentVolumeName != nil && *a.Spec.Source.PersistentVolumeName == pv {
				v.dirty[r] = true
			}
		}
	}
}

// claimNames returns the names of the claims of a pod.
func claimNames(pod *corev1.Pod) []string {
	var out []string
	for i := range pod.Spec.Volumes {
		switch vol := &pod.Spec.Volumes[i]; {
		case vol.PersistentVolumeClaim != nil:
			out = append(out, vol.PersistentVolumeClaim.ClaimName)
		case vol.Ephemeral != nil:
			out = append(out, ephemeral.VolumeClaimName(pod, vol))
		}
	}
	return out
}

// class marks the claims of a StorageClass that was created after them.
func (v *Volumes) class(_ time.Time, r ref) (time.Time, error) {
	for _, claim := range kubeapi.List[*corev1.PersistentVolumeClaim](v.c.server) {
		if volume.GetPersistentVolumeClaimClass(claim) == r.name && claim.Status.Phase == corev1.ClaimPending {
			v.changed("PersistentVolumeClaim", claim.Namespace, claim.Name)
		}
	}
	return time.Time{}, nil
}

// node adds the CSINode of a node that has become ready.
func (v *Volumes) node(_ time.Time, r ref) (time.Time, error) {
	node, ok := kubeapi.Find[*corev1.Node](v.c.server, "", r.name)
	if !ok || !ready(node) {
		return time.Time{}, nil
	}
	if _, exists := kubeapi.Find[*storagev1.CSINode](v.c.server, "", r.name); exists {
		return time.Time{}, nil
	}
	limit := max(v.limit-int32(v.localDisks(node.Labels[corev1.LabelInstanceTypeStable])), 0)
	_, err := kubeapi.Create(v.c.server, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
		}},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: Driver, NodeID: node.Name, TopologyKeys: []string{corev1.LabelTopologyZone}, Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
		}}},
	})
	return time.Time{}, err
}

// pod creates the claims of ephemeral volumes, and the attachments of the volumes of a pod that is bound.
func (v *Volumes) pod(_ time.Time, r ref) (time.Time, error) {
	pod, ok := kubeapi.Find[*corev1.Pod](v.c.server, r.namespace, r.name)
	if !ok || !active(pod) {
		return time.Time{}, nil
	}
	for i := range pod.Spec.Volumes {
		vol := &pod.Spec.Volumes[i]
		if vol.Ephemeral == nil || vol.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		name := ephemeral.VolumeClaimName(pod, vol)
		if _, exists := kubeapi.Find[*corev1.PersistentVolumeClaim](v.c.server, pod.Namespace, name); exists {
			continue
		}
		t := vol.Ephemeral.VolumeClaimTemplate.DeepCopy()
		if _, err := kubeapi.Create(v.c.server, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: pod.Namespace, Labels: t.Labels, Annotations: t.Annotations, OwnerReferences: controlledBy(pod),
			},
			Spec: t.Spec,
		}); err != nil {
			return time.Time{}, err
		}
	}
	if _, exists := kubeapi.Find[*corev1.Node](v.c.server, "", pod.Spec.NodeName); !exists {
		return time.Time{}, nil
	}
	for _, pv := range v.Of(pod) {
		if pv.Spec.CSI == nil {
			continue
		}
		name := attachmentName(pv.Name, pod.Spec.NodeName)
		if _, exists := kubeapi.Find[*storagev1.VolumeAttachment](v.c.server, "", name); exists {
			continue
		}
		if _, err := kubeapi.Create(v.c.server, &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: storagev1.VolumeAttachmentSpec{
				Attacher: pv.Spec.CSI.Driver, NodeName: pod.Spec.NodeName, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv.Name},
			},
		}); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}

// attachmentName returns the name of the attachment of a volume to a node.
func attachmentName(pv, node string) string {
	h := fnv.New128a()
	fmt.Fprint(h, pv, "/", node)
	return fmt.Sprintf("csi-%x", h.Sum(nil))
}

// Of returns the volumes of the bound PersistentVolumeClaims of a pod.
func (v *Volumes) Of(pod *corev1.Pod) []*corev1.PersistentVolume {
	var out []*corev1.PersistentVolume
	for _, name := range claimNames(pod) {
		claim, ok := kubeapi.Find[*corev1.PersistentVolumeClaim](v.c.server, pod.Namespace, name)
		if !ok || claim.Status.Phase != corev1.ClaimBound {
			continue
		}
		if pv, ok := kubeapi.Find[*corev1.PersistentVolume](v.c.server, "", claim.Spec.VolumeName); ok {
			out = append(out, pv)
		}
	}
	return out
}

// attached reports whether the claims of a pod are bound, and their volumes attached to its node.
func (v *Volumes) attached(pod *corev1.Pod) bool {
	names := claimNames(pod)
	if len(names) == 0 {
		return true
	}
	volumes := v.Of(pod)
	if len(volumes) < len(names) {
		return false
	}
	for _, pv := range volumes {
		a, ok := kubeapi.Find[*storagev1.VolumeAttachment](v.c.server, "", attachmentName(pv.Name, pod.Spec.NodeName))
		if pv.Spec.CSI != nil && (!ok || !a.Status.Attached || a.DeletionTimestamp != nil) {
			return false
		}
	}
	return true
}

// attachment attaches a volume, and detaches it some seconds after the last pod that uses it was removed from the node.
func (v *Volumes) attachment(now time.Time, r ref) (time.Time, error) {
	a, ok := kubeapi.Find[*storagev1.VolumeAttachment](v.c.server, "", r.name)
	if !ok || a.Spec.Source.PersistentVolumeName == nil {
		return time.Time{}, nil
	}
	if v.used(a) {
		delete(v.unused, a.UID)
		at := a.CreationTimestamp.Add(between(time.Second, 3*time.Second, v.c.seed, string(a.UID), "attach"))
		switch {
		case a.Status.Attached || v.elsewhere(a):
			return time.Time{}, nil
		case now.Before(at):
			return at, nil
		}
		a = a.DeepCopy()
		a.Status.Attached = true
		_, err := kubeapi.UpdateStatus(v.c.server, a)
		return time.Time{}, err
	}
	if _, known := v.unused[a.UID]; !known {
		v.unused[a.UID] = now
	}
	wait := between(2*time.Second, 6*time.Second, v.c.seed, string(a.UID), "detach")
	if node, ok := kubeapi.Find[*corev1.Node](v.c.server, "", a.Spec.NodeName); ok && v.c.Kubelets.silent(node) {
		wait = forceDetachAfter
	}
	if at := v.unused[a.UID].Add(wait); now.Before(at) {
		return at, nil
	}
	return time.Time{}, kubeapi.Delete(v.c.server, a)
}

// used reports whether a pod on the node of an attachment uses its volume.
func (v *Volumes) used(a *storagev1.VolumeAttachment) bool {
	return slices.ContainsFunc(v.c.podsOn(a.Spec.NodeName), func(pod *corev1.Pod) bool {
		return !terminal(pod) && slices.ContainsFunc(v.Of(pod), func(pv *corev1.PersistentVolume) bool {
			return pv.Name == *a.Spec.Source.PersistentVolumeName
		})
	})
}

// elsewhere reports whether the volume is attached to another node, although only one node can use it at a time.
func (v *Volumes) elsewhere(a *storagev1.VolumeAttachment) bool {
	pv, ok := kubeapi.Find[*corev1.PersistentVolume](v.c.server, "", *a.Spec.Source.PersistentVolumeName)
	if !ok || slices.Contains(pv.Spec.AccessModes, corev1.ReadWriteMany) || slices.Contains(pv.Spec.AccessModes, corev1.ReadOnlyMany) {
		return false
	}
	return slices.ContainsFunc(kubeapi.List[*storagev1.VolumeAttachment](v.c.server), func(o *storagev1.VolumeAttachment) bool {
		return o.UID != a.UID && o.Status.Attached && o.Spec.Source.PersistentVolumeName != nil && *o.Spec.Source.PersistentVolumeName == pv.Name
	})
}
