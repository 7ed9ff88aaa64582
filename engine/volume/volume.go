// Package volume computes what the volumes of a pod require of its node: the topology that each volume allows, and the
// CSI driver whose attach limit counts it. It reads PersistentVolumeClaims, PersistentVolumes, StorageClasses and CSINodes
// from a snapshot.
package volume

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Volume is what one volume of a pod requires of the pod's node.
type Volume struct {
	// Key is equal for pods that share the volume, which then needs one attachment per node. It is the handle of a
	// bound CSI volume, the ID of an in-tree EBS volume, or else namespace/claim. It is unique per Driver.
	Key string
	// Driver is the CSI driver whose attach limit counts the volume, empty if there is none. For an in-tree EBS volume
	// it is the driver that replaced the plugin, and likewise for an unbound claim with any provisioner in moved.
	Driver string
	// Topology are alternatives: the labels of the node must meet one of them. Nil allows any node. Keys may be
	// deprecated labels.
	Topology []require.Set
}

// bindCompleted is the annotation of a claim that is completely bound to its volume.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// Of returns the PersistentVolumeClaims and in-tree EBS volumes of p, in the order of its spec. If no node can satisfy a
// claim at present, it returns no volumes, and the verdict names the first such claim.
func Of(s *model.Snapshot, p *model.Pod) ([]Volume, model.Verdict) {
	var out []Volume
	for i := range p.Object.Spec.Volumes {
		v, uses, no := volumeOf(s, p, &p.Object.Spec.Volumes[i])
		if !no.OK() {
			return nil, no
		}
		if uses {
			out = append(out, v)
		}
	}
	return out, model.Verdict{}
}

// volumeOf returns what volume v of the pod requires. uses is false if v has neither a claim nor an in-tree EBS volume.
func volumeOf(s *model.Snapshot, p *model.Pod, v *corev1.Volume) (out Volume, uses bool, no model.Verdict) {
	pod, name := p.Object, model.ClaimName(p.Object, v)
	switch {
	case name != "":
	case v.AWSElasticBlockStore != nil:
		return Volume{Key: afterSlash(v.AWSElasticBlockStore.VolumeID), Driver: ebsDriver}, true, model.Verdict{}
	default:
		return Volume{}, false, model.Verdict{}
	}
	key := pod.Namespace + "/" + name
	claim, ok := s.VolumeClaims.Get(key)
	switch {
	case ok && v.Ephemeral != nil && !metav1.IsControlledBy(claim, pod):
		return Volume{}, true, refuseClaim(key, "exists, but is not owned by this pod", "delete or rename it; it has the name of ephemeral volume "+v.Name)
	case ok:
		if out, no = claimed(s, key, claim); no.OK() && slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			no = exclusive(s, key, p)
		}
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		out, no = unbound(s, key, &v.Ephemeral.VolumeClaimTemplate.Spec, nil)
	default:
		no = refuseClaim(key, "does not exist", "create PersistentVolumeClaim "+key)
		no.Cause, no.Key = model.CauseMissing, "PersistentVolumeClaim "+key
	}
	return out, true, no
}

// refuseClaim returns a refusal because of one claim, with its fix.
func refuseClaim(key, why, fix string) model.Verdict {
	return model.Verdict{Rule: model.RuleVolume, Subject: fmt.Sprintf("PersistentVolumeClaim %s %s", key, why), Hint: fix}
}

// claimed returns what the volume of a claim requires.
func claimed(s *model.Snapshot, key string, claim *corev1.PersistentVolumeClaim) (Volume, model.Verdict) {
	switch {
	case claim.DeletionTimestamp != nil:
		return Volume{}, refuseClaim(key, "is being deleted", "create it again once it is deleted")
	case claim.Status.Phase == corev1.ClaimLost:
		return Volume{}, refuseClaim(key, "has phase Lost", "restore the PersistentVolume, or create the claim again")
	case claim.Spec.VolumeName == "":
		return unbound(s, key, &claim.Spec, claim.Annotations)
	}
	volume, ok := s.Volumes.Get(claim.Spec.VolumeName)
	switch {
	case !ok:
		return Volume{}, refuseClaim(key, fmt.Sprintf("is bound to PersistentVolume %q, which does not exist", claim.Spec.VolumeName),
			"restore PersistentVolume "+claim.Spec.VolumeName+", or create the claim again")
	case volume.DeletionTimestamp != nil:
		return Volume{}, refuseClaim(key, fmt.Sprintf("is bound to PersistentVolume %q, which is being deleted", volume.Name),
			"create the claim again")
	case !metav1.HasAnnotation(claim.ObjectMeta, bindCompleted):
		return Volume{}, refuseClaim(key, fmt.Sprintf("is not bound yet to PersistentVolume %q", volume.Name),
			"see the events of the claim if it is not bound soon")
	}
	out := Volume{Key: key}
	out.identify(volume)
	out.Topology = topologyOf(volume)
	if out.Topology != nil && len(out.Topology) == 0 {
		return Volume{}, refuseClaim(key, fmt.Sprintf("is bound to PersistentVolume %q, whose node affinity admits no node", volume.Name),
			"change spec.nodeAffinity of PersistentVolume "+volume.Name)
	}
	return out, model.Verdict{}
}

// exclusive returns a refusal if the pod is not bound and another pod may use the claim first. The claim is ReadWriteOncePod.
func exclusive(s *model.Snapshot, key string, p *model.Pod) model.Verdict {
	user := model.SoleUser(s, key)
	if user == nil || user.Key == p.Key || p.Bound() {
		return model.Verdict{}
	}
	state := "is used by pod "
	if !user.Bound() {
		state = "is to be used by pending pod "
	}
	return refuseClaim(key, "has access mode ReadWriteOncePod and "+state+user.Key, "delete pod "+user.Key+", or use another access mode")
}

// classOf returns the name of the claim's StorageClass, "" if it names none.
func classOf(claim *corev1.PersistentVolumeClaimSpec, annotations map[string]string) string {
	name := annotations[corev1.BetaStorageClassAnnotation]
	if name == "" && claim.StorageClassName != nil {
		name = *claim.StorageClassName
	}
	return name
}

// unbound returns what a claim without a volume requires. The volume will be created for the pod's node, within the
// topology that the storage class allows. A claim whose volume cannot be created in this way is refused.
func unbound(s *model.Snapshot, key string, claim *corev1.PersistentVolumeClaimSpec, annotations map[string]string) (Volume, model.Verdict) {
	name := classOf(claim, annotations)
	if name == "" {
		return Volume{}, refuseClaim(key, "is unbound and names no StorageClass", "set spec.storageClassName, or create a PersistentVolume for it")
	}
	class, ok := s.StorageClasses.Get(name)
	switch {
	case !ok:
		no := refuseClaim(key, fmt.Sprintf("is unbound and StorageClass %q does not exist", name),
			"create StorageClass "+name+", or name another in the claim")
		no.Cause, no.Key = model.CauseMissing, "StorageClass "+name
		return Volume{}, no
	case class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate:
		return Volume{}, refuseClaim(key, fmt.Sprintf(
			"is unbound and StorageClass %q has volumeBindingMode Immediate: it must be provisioned first", name),
			"see the events of the claim, or use volumeBindingMode WaitForFirstConsumer")
	}
	out := Volume{Key: key, Driver: driverOf(class.Provisioner), Topology: allowed(class)}
	if out.Topology == nil && len(class.AllowedTopologies) > 0 {
		return Volume{}, refuseClaim(key, fmt.Sprintf("is unbound, and allowedTopologies of StorageClass %q admit no node", name),
			"change allowedTopologies of StorageClass "+name)
	}
	return out, model.Verdict{}
}

// Unlimited is the attach limit of a CSI driver that a CSINode lists without a limit.
const Unlimited = math.MaxInt

// AttachLimits returns the attach limit of each CSI driver that the CSINode of n lists, nil if there is no CSINode. A driver
// that is missing has not registered on n yet. A driver that is listed without a limit has Unlimited, as in kube-scheduler.
func AttachLimits(s *model.Snapshot, n *model.Node) map[string]int {
	if n.Object == nil {
		return nil
	}
	node, ok := s.CSINodes.Get(n.Object.Name)
	if !ok {
		return nil
	}
	limits := make(map[string]int, len(node.Spec.Drivers))
	for _, d := range node.Spec.Drivers {
		limits[d.Name] = Unlimited
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			limits[d.Name] = int(*d.Allocatable.Count)
		}
	}
	return limits
}

// SeenAttachLimits returns the attach limits that nodes report, by instance type and CSI driver. Of different limits
// for one type the lowest applies, and Unlimited is ignored. New nodes of the type are assumed to have it.
func SeenAttachLimits(s *model.Snapshot) map[string]map[string]int {
	out := map[string]map[string]int{}
	for _, n := range s.Nodes() {
		name := n.Labels[corev1.LabelInstanceTypeStable]
		if name == "" {
			continue
		}
		for driver, limit := range AttachLimits(s, n) {
			if limit == Unlimited {
				continue
			}
			if out[name] == nil {
				out[name] = map[string]int{}
			}
			if least, seen := out[name][driver]; !seen || limit < least {
				out[name][driver] = limit
			}
		}
	}
	return out
}

// AttachedTo returns the keys of the volumes that the pods on n use, by driver. Volumes without a driver are ignored. Claims
// that do not exist are ignored too.
func AttachedTo(s *model.Snapshot, n *model.Node) map[string]map[string]bool {
	used := map[string]map[string]bool{}
	for _, p := range n.Pods {
		for i := range p.Object.Spec.Volumes {
			v := attached(s, p, &p.Object.Spec.Volumes[i])
			if v.Driver == "" {
				continue
			}
			if used[v.Driver] == nil {
				used[v.Driver] = map[string]bool{}
			}
			used[v.Driver][v.Key] = true
		}
	}
	return used
}

// attached returns Driver and Key of volume v of the pod, which runs on a node. In contrast to volumeOf, the claim and its
// PersistentVolume may be being deleted, because they stay attached while the pod uses them. A claim without an existing
// PersistentVolume has the driver of its StorageClass, as in kube-scheduler.
func attached(s *model.Snapshot, p *model.Pod, v *corev1.Volume) Volume {
	key := p.Object.Namespace + "/" + model.ClaimName(p.Object, v)
	claim, ok := s.VolumeClaims.Get(key)
	if !ok || v.Ephemeral != nil && !metav1.IsControlledBy(claim, p.Object) {
		out, _, _ := volumeOf(s, p, v)
		return out
	}
	out := Volume{Key: key}
	if volume, ok := s.Volumes.Get(claim.Spec.VolumeName); ok {
		out.identify(volume)
	} else if class, ok := s.StorageClasses.Get(classOf(&claim.Spec, claim.Annotations)); ok {
		out.Driver = driverOf(class.Provisioner)
	}
	return out
}

func afterSlash(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// identify sets Driver and Key from the volume to which the claim is bound.
func (v *Volume) identify(volume *corev1.PersistentVolume) {
	switch source := volume.Spec.PersistentVolumeSource; {
	case source.CSI != nil:
		v.Driver, v.Key = driverOf(source.CSI.Driver), source.CSI.VolumeHandle
	case source.AWSElasticBlockStore != nil:
		v.Driver, v.Key = ebsDriver, afterSlash(source.AWSElasticBlockStore.VolumeID)
	}
}

const ebsDriver = "ebs.csi.aws.com"

// moved maps in-tree provisioners to the CSI drivers that replaced them.
var moved = map[string]string{
	"kubernetes.io/aws-ebs":         ebsDriver,
	"kubernetes.io/gce-pd":          "pd.csi.storage.gke.io",
	"kubernetes.io/azure-disk":      "disk.csi.azure.com",
	"kubernetes.io/azure-file":      "file.csi.azure.com",
	"kubernetes.io/cinder":          "cinder.csi.openstack.org",
	"kubernetes.io/vsphere-volume":  "csi.vsphere.vmware.com",
	"kubernetes.io/portworx-volume": "pxd.portworx.com",
}

// driverOf returns the CSI driver of a provisioner, empty if there is none.
func driverOf(provisioner string) string {
	if driver, ok := moved[provisioner]; ok {
		return driver
	}
	if strings.HasPrefix(provisioner, "kubernetes.io/") {
		return ""
	}
	return provisioner
}

// allowed returns the topology alternatives of a storage class. In the API, a term without expressions matches nothing.
func allowed(class *storagev1.StorageClass) []require.Set {
	var out []require.Set
	for _, t := range class.AllowedTopologies {
		rs := make([]require.Requirement, len(t.MatchLabelExpressions))
		for i, e := range t.MatchLabelExpressions {
			rs[i] = require.New(e.Key, require.In, e.Values...)
		}
		if len(rs) > 0 {
			out = append(out, require.NewSet(rs...))
		}
	}
	return out
}

// topologyOf returns the topology alternatives of a volume: its node affinity together with its zone and region labels,
// as kube-scheduler reads them. Nil means that any node matches, an empty result that is not nil that none does.
//
// As in upstream Karpenter, the node name that a local volume requires is ignored. Otherwise its pod could never leave
// the node. When the node is removed, the owner of the volume must create it again.
func topologyOf(volume *corev1.PersistentVolume) []require.Set {
	labelled := labelledTopology(volume.Labels)
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		if labelled.Len() == 0 {
			return nil
		}
		return []require.Set{labelled}
	}
	local := volume.Spec.Local != nil || volume.Spec.HostPath != nil
	out := []require.Set{}
	for _, t := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
			continue // by the API, an empty term matches no node
		}
		set := require.FromSelector(slices.Concat(t.MatchExpressions, t.MatchFields))
		if local {
			set = set.Without(corev1.LabelHostname, metav1.ObjectNameField)
		}
		if set = set.And(labelled); set.Len() == 0 {
			return nil
		}
		out = append(out, set)
	}
	return out
}

// labelledTopology returns the requirements of the zone and region labels of a volume. Several zones are separated by
// "__".
func labelledTopology(labels map[string]string) require.Set {
	var rs []require.Requirement
	for _, key := range []string{
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	} {
		if v, ok := labels[key]; ok {
			rs = append(rs, require.New(key, require.In, strings.Split(v, "__")...))
		}
	}
	return require.NewSet(rs...)
}
