package verify

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// An attachment is a volume that a pod must have on its node.
type attachment struct {
	claim string // namespace/name; empty for a volume that needs none
	// driver and handle tell volumes apart where a driver's limit counts them; driver is
	// empty if none does.
	driver, handle string
	// selector is what the volume asks of the node's labels; nil if nothing.
	selector *selector
	// problem says why no node will do; empty if some may.
	problem string
	// alone means that only one pod may have the claim at a time.
	alone bool
}

// ebs is the driver that took over the volumes which Kubernetes once attached itself.
const ebs = "ebs.csi.aws.com"

// volumesOf returns what is to be attached for pod. All of them must be known before the
// first place is asked for.
func (c *checker) volumesOf(pod *corev1.Pod) []*attachment {
	var out []*attachment
	for _, v := range pod.Spec.Volumes {
		a := &attachment{}
		switch {
		case v.PersistentVolumeClaim != nil:
			a.claim = pod.Namespace + "/" + v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			a.claim = pod.Namespace + "/" + pod.Name + "-" + v.Name
		case v.AWSElasticBlockStore != nil:
			a.driver, a.handle = ebs, lastPart(v.AWSElasticBlockStore.VolumeID)
			out = append(out, a)
			continue
		default:
			continue
		}
		out = append(out, a)
		claim, ok := c.snapshot.VolumeClaim(a.claim)
		switch {
		case ok && v.Ephemeral != nil && !metav1.IsControlledBy(claim, pod):
			a.problem = "belongs to another"
		case ok:
			c.follow(a, claim)
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
			c.toBeMade(a, v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName)
		default:
			a.problem = "is not there"
		}
	}
	return out
}

// follow reads a claim, and the volume behind it.
func (c *checker) follow(a *attachment, claim *corev1.PersistentVolumeClaim) {
	a.alone = slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
	volume, there := c.snapshot.Volume(claim.Spec.VolumeName)
	switch {
	case claim.DeletionTimestamp != nil:
		a.problem = "is being deleted"
	case claim.Status.Phase == corev1.ClaimLost:
		a.problem = "has lost its volume"
	case claim.Spec.VolumeName == "":
		class := claim.Spec.StorageClassName
		if old := claim.Annotations[corev1.BetaStorageClassAnnotation]; old != "" {
			class = &old
		}
		c.toBeMade(a, class)
	case !there || volume.DeletionTimestamp != nil:
		a.problem = "is bound to a volume that is not there"
	case claim.Annotations["pv.kubernetes.io/bind-completed"] == "":
		a.problem = "is not bound to the end"
	default:
		a.handle = a.claim
		if s := volume.Spec.CSI; s != nil {
			a.driver, a.handle = s.Driver, s.VolumeHandle
		} else if s := volume.Spec.AWSElasticBlockStore; s != nil {
			a.driver, a.handle = ebs, lastPart(s.VolumeID)
		}
		a.selector = c.places.reachable(volume)
	}
}

// toBeMade reads the class of a claim whose volume is made once the pod has a node.
func (c *checker) toBeMade(a *attachment, name *string) {
	a.handle = a.claim
	if name == nil || *name == "" {
		a.problem = "has neither volume nor storage class"
		return
	}
	class, ok := c.snapshot.StorageClass(*name)
	switch {
	case !ok:
		a.problem = "has no volume, and its storage class is not there"
	case class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer:
		a.problem = "has no volume yet, and gets one without asking where its pod goes"
	default:
		a.driver = class.Provisioner
		if a.driver == "kubernetes.io/aws-ebs" {
			a.driver = ebs
		}
		a.selector = c.places.madeWithin(class)
	}
}

// users checks that claims which are for one pod at a time have no other.
func (c *checker) users() {
	placed, exclusive := c.demands, false
	for _, d := range placed {
		exclusive = exclusive || slices.ContainsFunc(d.volumes, func(a *attachment) bool { return a.alone })
	}
	if !exclusive {
		return
	}
	used := make(map[string]string) // by claim, who has it
	for _, pods := range c.bound {
		for _, p := range pods {
			if placed[p] != nil {
				continue // it is moved
			}
			for _, a := range c.volumesOf(p) {
				if first := used[a.claim]; first == "" || nameOfPod(p) < first {
					used[a.claim] = nameOfPod(p)
				}
			}
		}
	}
	for _, p := range c.snapshot.Pods() {
		d := placed[p.Object]
		if d == nil {
			continue
		}
		for _, a := range d.volumes {
			if other, taken := used[a.claim]; taken && a.alone {
				c.add(Violation{Rule: RuleVolumes, Pod: d.key,
					Detail: fmt.Sprintf("its claim %s is for one pod at a time, and %s has it", a.claim, other)})
			}
			used[a.claim] = d.key
		}
	}
}

func lastPart(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// reachable returns what a volume asks of nodes: its node affinity, and the zone and
// region on its labels. Volumes on a node's own disk are not held to that node, so that
// their pods can leave it.
func (ps *places) reachable(volume *corev1.PersistentVolume) *selector {
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
	return ps.anyOf(terms)
}

// madeWithin returns what a storage class asks of the node for which it makes a volume.
func (ps *places) madeWithin(class *storagev1.StorageClass) *selector {
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
	return ps.anyOf(terms)
}

// anyOf returns the selector of the nodes that one of the terms, which it may change,
// matches. Keys of old are asked for by their present names, which all nodes carry.
func (ps *places) anyOf(terms []corev1.NodeSelectorTerm) *selector {
	for _, t := range terms {
		for i, e := range t.MatchExpressions {
			if stable, ok := ps.aliases[e.Key]; ok {
				t.MatchExpressions[i].Key = stable
			}
		}
	}
	return ps.selectorOf(&corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		},
	}}})
}

// attach checks that pods which come to a node have volumes that can be attached there,
// beside those of the pods that are there and of the daemons that are missing.
func (c *checker) attach(n *model.Node, l *load, there []*corev1.Pod, missing []*demand) {
	if !slices.ContainsFunc(l.pods, func(d *demand) bool { return len(d.volumes) > 0 }) {
		return
	}
	most := c.mostOn(n)
	used := make(map[string]map[string]bool)
	attach := func(a *attachment) int {
		if used[a.driver] == nil {
			used[a.driver] = make(map[string]bool)
		}
		used[a.driver][a.handle] = true
		return len(used[a.driver])
	}
	for _, p := range there {
		for _, a := range c.volumesOf(p) {
			if a.problem == "" {
				attach(a)
			}
		}
	}
	for _, d := range missing {
		for _, a := range d.volumes {
			attach(a)
		}
	}
	for _, d := range l.pods {
		for _, a := range d.volumes {
			limit, limited := most(a.driver)
			if a.driver == "" || !limited || used[a.driver][a.handle] {
				continue
			}
			if attach(a) > limit {
				c.add(Violation{Rule: RuleVolumes, Node: n.Name, Pod: d.key, Detail: fmt.Sprintf(
					"driver %s attaches %d volumes at most, this is one more", a.driver, limit)})
			}
		}
	}
}
