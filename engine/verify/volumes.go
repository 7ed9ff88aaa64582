package verify

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// An attachment is a volume that is attached to the node of a pod.
type attachment struct {
	claim string // namespace/name; empty for a volume without a claim
	// driver is the CSI driver whose attach limit counts the volume, empty if there is none. handle identifies the
	// volume at the driver.
	driver, handle string
	// selector matches the nodes from which the volume is accessible.
	selector *nodematch.Selector
	// problem is the reason why no node can run the pod with this volume, empty if there is none.
	problem string
	// exclusive means that only one pod at a time may use the claim (ReadWriteOncePod).
	exclusive bool
}

// ebsDriver is the CSI driver that replaced the in-tree EBS plugin of Kubernetes.
const ebsDriver = "ebs.csi.aws.com"

// attachmentsOf returns the volumes of the pod that are attached to its node. It must be called for all pods before the
// first label set is created.
func (c *catalog) attachmentsOf(pod *corev1.Pod) []*attachment {
	var out []*attachment
	for _, v := range pod.Spec.Volumes {
		a := &attachment{}
		switch {
		case v.PersistentVolumeClaim != nil:
			a.claim = pod.Namespace + "/" + v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			a.claim = pod.Namespace + "/" + pod.Name + "-" + v.Name
		case v.AWSElasticBlockStore != nil:
			a.driver, a.handle = ebsDriver, path.Base(v.AWSElasticBlockStore.VolumeID)
		default:
			continue
		}
		out = append(out, a)
		if a.claim == "" {
			continue
		}
		a.handle = a.claim // unless the volume has a handle
		claim, ok := c.snapshot.VolumeClaims.Get(a.claim)
		switch {
		case ok && v.Ephemeral != nil && !metav1.IsControlledBy(claim, pod):
			a.problem = "belongs to another"
		case ok:
			c.readClaim(a, claim)
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
			c.readClass(a, v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName)
		default:
			a.problem = "does not exist"
		}
	}
	return out
}

// readClaim reads a claim and the volume to which it is bound, or else its storage class.
func (c *catalog) readClaim(a *attachment, claim *corev1.PersistentVolumeClaim) {
	a.exclusive = slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
	volume, exists := c.snapshot.Volumes.Get(claim.Spec.VolumeName)
	if exists {
		if s := volume.Spec.CSI; s != nil {
			a.driver, a.handle = s.Driver, s.VolumeHandle
		} else if s := volume.Spec.AWSElasticBlockStore; s != nil {
			a.driver, a.handle = ebsDriver, path.Base(s.VolumeID)
		}
		a.selector = c.reachableFrom(volume)
	} else {
		class := claim.Spec.StorageClassName
		if old := claim.Annotations[corev1.BetaStorageClassAnnotation]; old != "" {
			class = &old
		}
		c.readClass(a, class)
	}
	switch {
	case claim.DeletionTimestamp != nil:
		a.problem = "is being deleted"
	case claim.Status.Phase == corev1.ClaimLost:
		a.problem = "has lost its volume"
	case claim.Spec.VolumeName == "": // readClass has set the problem
	case !exists || volume.DeletionTimestamp != nil:
		a.problem = "is bound to a volume that does not exist"
	case claim.Annotations["pv.kubernetes.io/bind-completed"] == "":
		a.problem = "is not completely bound"
	}
}

// readClass reads the storage class of a PersistentVolumeClaim that has no volume yet. It sets a.problem if no class is
// named or the class does not exist, or if the class does not wait for the pod's node (WaitForFirstConsumer).
func (c *catalog) readClass(a *attachment, name *string) {
	if name == nil || *name == "" {
		a.problem = "has neither volume nor storage class"
		return
	}
	class, ok := c.snapshot.StorageClasses.Get(*name)
	if !ok {
		a.problem = "has no volume, and its storage class does not exist"
		return
	}
	a.driver = class.Provisioner
	if a.driver == "kubernetes.io/aws-ebs" {
		a.driver = ebsDriver
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		a.problem = "has no volume yet, and its storage class binds without regard to its pod (Immediate)"
		return
	}
	a.selector = c.provisionedFor(class)
}

// exclusiveClaims checks that no two pods use the same claim with ReadWriteOncePod.
func (c *checker) exclusiveClaims() {
	exclusive := false
	for _, d := range c.demands {
		exclusive = exclusive || slices.ContainsFunc(d.volumes, func(a *attachment) bool { return a.exclusive })
	}
	if !exclusive {
		return
	}
	used := make(map[string]string) // the pod that uses each claim
	for _, p := range c.snapshot.Pods.Values() {
		if p.Bound() && !p.Terminal() && c.demands[p.Object] == nil { // otherwise it is not there, or the plan moves it
			for _, a := range c.catalog.attachmentsOf(p.Object) {
				used[a.claim] = p.Key
			}
		}
	}
	for _, p := range c.snapshot.Pods.Values() {
		if d := c.demands[p.Object]; d != nil {
			for _, a := range d.volumes {
				if other, taken := used[a.claim]; taken && a.exclusive {
					c.add(Violation{Rule: RuleVolumes, Pod: d.key,
						Detail: fmt.Sprintf("its claim %s is for one pod at a time, and %s uses it", a.claim, other)})
				}
				used[a.claim] = d.key
			}
		}
	}
}

// reachableFrom returns a selector of the nodes from which the volume is accessible, by its node affinity and its zone
// and region labels. It returns nil if these are all nodes. The hostname and node name in the node affinity of a local or
// hostPath volume are ignored, so that its pod can leave the node.
func (c *catalog) reachableFrom(volume *corev1.PersistentVolume) *nodematch.Selector {
	terms := []corev1.NodeSelectorTerm{{}}
	if volume.Spec.NodeAffinity != nil && volume.Spec.NodeAffinity.Required != nil {
		terms = terms[:0]
		for _, t := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
			if len(t.MatchExpressions)+len(t.MatchFields) > 0 {
				terms = append(terms, *t.DeepCopy())
			}
		}
	}
	for i := range terms {
		t := &terms[i]
		if volume.Spec.Local != nil || volume.Spec.HostPath != nil {
			t.MatchFields = nil
			t.MatchExpressions = slices.DeleteFunc(t.MatchExpressions,
				func(e corev1.NodeSelectorRequirement) bool { return e.Key == corev1.LabelHostname })
		}
		for _, key := range []string{
			corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone,
			corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion,
		} {
			if v, ok := volume.Labels[key]; ok {
				t.MatchExpressions = append(t.MatchExpressions, corev1.NodeSelectorRequirement{
					Key: key, Operator: corev1.NodeSelectorOpIn, Values: strings.Split(v, "__"),
				})
			}
		}
		if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
			return nil
		}
	}
	return c.anyOf(terms)
}

// provisionedFor returns a selector of the nodes for which the storage class creates volumes, nil if these are all nodes.
func (c *catalog) provisionedFor(class *storagev1.StorageClass) *nodematch.Selector {
	if len(class.AllowedTopologies) == 0 {
		return nil
	}
	var terms []corev1.NodeSelectorTerm
	for _, allowed := range class.AllowedTopologies {
		t := corev1.NodeSelectorTerm{}
		for _, e := range allowed.MatchLabelExpressions {
			t.MatchExpressions = append(t.MatchExpressions, corev1.NodeSelectorRequirement{
				Key: e.Key, Operator: corev1.NodeSelectorOpIn, Values: e.Values,
			})
		}
		terms = append(terms, t)
	}
	return c.anyOf(terms)
}

// anyOf returns a selector of the nodes that meet one of the terms. It changes the terms: deprecated keys are replaced
// by stable ones, because each node with a deprecated label has the stable label too.
func (c *catalog) anyOf(terms []corev1.NodeSelectorTerm) *nodematch.Selector {
	for _, t := range terms {
		for i, e := range t.MatchExpressions {
			t.MatchExpressions[i].Key = cmp.Or(c.index.Aliases[e.Key], e.Key)
		}
	}
	return c.index.Selector(&corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		},
	}}})
}
