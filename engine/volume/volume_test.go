package volume_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/volume"
)

// A disk is the PersistentVolumeClaim "data" of pod "web" and its volume. The volume is an EBS volume in zone a, created by
// StorageClass "gp3".
type disk struct {
	pod    *corev1.Pod
	other  *corev1.Pod // nil if there is none
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
	class  *storagev1.StorageClass
}

func newDisk() *disk {
	mode, gp3 := storagev1.VolumeBindingWaitForFirstConsumer, "gp3"
	d := &disk{
		pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"}},
		claim: &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data",
				Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
			Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: "pv", StorageClassName: &gp3},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		},
		volume: &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv"},
			Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-1"},
			}},
		},
		class: &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: gp3}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &mode,
		},
	}
	d.pod.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
		{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}},
	}
	d.in(in(corev1.LabelTopologyZone, "a"))
	return d
}

// in sets the node affinity of the volume: a node must meet one of the requirements. Each becomes a term of its own.
func (d *disk) in(terms ...corev1.NodeSelectorRequirement) {
	var out []corev1.NodeSelectorTerm
	for _, r := range terms {
		out = append(out, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{r}})
	}
	d.volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: out}}
}

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// unbind removes the volume of the claim, which is then unbound.
func (d *disk) unbind() { d.claim.Spec.VolumeName, d.claim.Annotations = "", nil }

// ephemeral replaces the pod's claim by an ephemeral volume, whose claim is web-scratch. The claim exists only if owner is
// not empty. owner is the UID of the pod that owns the claim.
func (d *disk) ephemeral(owner string) {
	d.pod.Spec.Volumes[1] = corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: d.claim.Spec.StorageClassName},
		}},
	}}
	if owner != "" {
		yes := true
		d.claim.Name = "web-scratch"
		d.claim.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", UID: types.UID(owner), Controller: &yes}}
	}
}

// shared gives the claim the access mode ReadWriteOncePod, and adds another pod that mounts it. The other pod has the phase,
// and is bound to node unless node is empty.
func (d *disk) shared(phase corev1.PodPhase, node string) {
	d.claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	d.other = d.pod.DeepCopy()
	d.other.Name, d.other.UID = "other", "other"
	d.other.Status.Phase, d.other.Spec.NodeName = phase, node
}

func (d *disk) snapshot() *model.Snapshot {
	pods := []*corev1.Pod{d.pod}
	if d.other != nil {
		pods = append(pods, d.other)
	}
	return model.Compile(model.Delta{
		Pods: pods, VolumeClaims: []*corev1.PersistentVolumeClaim{d.claim},
		Volumes: []*corev1.PersistentVolume{d.volume}, StorageClasses: []*storagev1.StorageClass{d.class},
	})
}

// text returns the volumes as text, or the reason of the refusal.
func text(volumes []volume.Volume, no model.Verdict) string {
	if !no.OK() {
		return no.String()
	}
	var parts []string
	for _, v := range volumes {
		part := v.Driver + " " + v.Key
		for _, alternative := range v.Topology {
			part += " | " + alternative.String()
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func TestOf(t *testing.T) {
	const claim = "PersistentVolumeClaim default/data "
	for _, tt := range []struct {
		name  string
		given func(*disk)
		want  string
	}{
		{"none", func(d *disk) { d.pod.Spec.Volumes = d.pod.Spec.Volumes[:1] }, ""},
		{"bound", func(*disk) {}, "ebs.csi.aws.com vol-1 | topology.kubernetes.io/zone in [a]"},
		{"bound in one of two zones", func(d *disk) { d.in(in("zone", "a"), in("zone", "b")) },
			"ebs.csi.aws.com vol-1 | zone in [a] | zone in [b]"},
		{"bound, anywhere", func(d *disk) { d.volume.Spec.NodeAffinity = nil }, "ebs.csi.aws.com vol-1"},
		{"labelled with zones", func(d *disk) {
			d.volume.Spec.NodeAffinity = nil
			d.volume.Labels = map[string]string{corev1.LabelFailureDomainBetaZone: "a__b"}
		}, "ebs.csi.aws.com vol-1 | failure-domain.beta.kubernetes.io/zone in [a, b]"},
		{"in tree", func(d *disk) {
			d.volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
				AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://us-east-1a/vol-2"},
			}
		}, "ebs.csi.aws.com vol-2 | topology.kubernetes.io/zone in [a]"},
		{"no driver", func(d *disk) { d.volume.Spec.CSI = nil }, " default/data | topology.kubernetes.io/zone in [a]"},
		{"on a node's disk", func(d *disk) {
			d.volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}
			d.in(in(corev1.LabelHostname, "n1"))
		}, " default/data"},
		{"on a node's disk in a zone", func(d *disk) {
			d.volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{}}
			terms := []corev1.NodeSelectorRequirement{in(corev1.LabelHostname, "n1"), in("zone", "a")}
			d.volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions = terms
		}, " default/data | zone in [a]"},
		{"nowhere", func(d *disk) { d.volume.Spec.NodeAffinity.Required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}} },
			claim + `is bound to PersistentVolume "pv", whose node affinity admits no node`},
		{"unbound", func(d *disk) { d.unbind() }, "ebs.csi.aws.com default/data"},
		{"unbound, in tree", func(d *disk) { d.unbind(); d.class.Provisioner = "kubernetes.io/aws-ebs" },
			"ebs.csi.aws.com default/data"},
		{"unbound, without driver", func(d *disk) { d.unbind(); d.class.Provisioner = "kubernetes.io/no-provisioner" },
			" default/data"},
		{"unbound, in some zones", func(d *disk) { d.unbind(); d.class.AllowedTopologies = topologies("a b", "c") },
			"ebs.csi.aws.com default/data | zone in [a, b] | zone in [c]"},
		{"unbound, nowhere", func(d *disk) { d.unbind(); d.class.AllowedTopologies = topologies("") },
			claim + `is unbound, and allowedTopologies of StorageClass "gp3" admit no node`},
		{"ephemeral", func(d *disk) { d.ephemeral("web") },
			"ebs.csi.aws.com vol-1 | topology.kubernetes.io/zone in [a]"},
		{"ephemeral, not made yet", func(d *disk) { d.ephemeral("") }, "ebs.csi.aws.com default/web-scratch"},
		{"ephemeral, another's", func(d *disk) { d.ephemeral("web-of-old") },
			"PersistentVolumeClaim default/web-scratch exists, but is not owned by this pod"},
		{"no claim", func(d *disk) { d.claim.Name = "other" }, claim + "does not exist"},
		{"claim of another namespace", func(d *disk) { d.claim.Namespace = "other" }, claim + "does not exist"},
		{"claim going", func(d *disk) { d.claim.DeletionTimestamp = &metav1.Time{} }, claim + "is being deleted"},
		{"volume lost", func(d *disk) { d.claim.Status.Phase = corev1.ClaimLost }, claim + "has phase Lost"},
		{"no volume", func(d *disk) { d.volume.Name = "other" },
			claim + `is bound to PersistentVolume "pv", which does not exist`},
		{"volume going", func(d *disk) { d.volume.DeletionTimestamp = &metav1.Time{} },
			claim + `is bound to PersistentVolume "pv", which is being deleted`},
		{"half bound", func(d *disk) { d.claim.Annotations = nil }, claim + `is not bound yet to PersistentVolume "pv"`},
		{"no class named", func(d *disk) { d.unbind(); d.claim.Spec.StorageClassName = nil },
			claim + "is unbound and names no StorageClass"},
		{"class named as of old", func(d *disk) {
			d.unbind()
			d.claim.Spec.StorageClassName = nil
			d.claim.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-class": "gp3"}
		}, "ebs.csi.aws.com default/data"},
		{"no class", func(d *disk) { d.unbind(); d.class.Name = "other" },
			claim + `is unbound and StorageClass "gp3" does not exist`},
		{"for one pod, which another is", func(d *disk) { d.shared(corev1.PodRunning, "n1") },
			claim + "has access mode ReadWriteOncePod and is used by pod default/other"},
		{"for one pod, with none bound yet", func(d *disk) { d.shared(corev1.PodPending, "") },
			"ebs.csi.aws.com vol-1 | topology.kubernetes.io/zone in [a]"},
		{"for one pod, which has ended", func(d *disk) { d.shared(corev1.PodSucceeded, "n1") },
			"ebs.csi.aws.com vol-1 | topology.kubernetes.io/zone in [a]"},
		{"for one pod, which it is itself", func(d *disk) { d.shared(corev1.PodPending, ""); d.pod.Spec.NodeName = "n1" },
			"ebs.csi.aws.com vol-1 | topology.kubernetes.io/zone in [a]"},
		{"binds at once", func(d *disk) { d.unbind(); *d.class.VolumeBindingMode = storagev1.VolumeBindingImmediate },
			claim + `is unbound and StorageClass "gp3" has volumeBindingMode Immediate: it must be provisioned first`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDisk()
			tt.given(d)
			s := d.snapshot()
			p, _ := s.Pods.Get("default/web")
			if got := text(volume.Of(s, p)); got != tt.want {
				t.Errorf("Of = %q, want %q", got, tt.want)
			}
		})
	}
}

// topologies returns a term for each list of zones.
func topologies(terms ...string) []corev1.TopologySelectorTerm {
	var out []corev1.TopologySelectorTerm
	for _, zones := range terms {
		t := corev1.TopologySelectorTerm{}
		if zones != "" {
			t.MatchLabelExpressions = []corev1.TopologySelectorLabelRequirement{{Key: "zone", Values: strings.Fields(zones)}}
		}
		out = append(out, t)
	}
	return out
}

func TestOfNothingAllocateNothing(t *testing.T) {
	d := newDisk()
	d.pod.Spec.Volumes = d.pod.Spec.Volumes[:1]
	s := d.snapshot()
	p := s.Pods.Values()[0]
	if n := testing.AllocsPerRun(100, func() { volume.Of(s, p) }); n > 0 {
		t.Errorf("Of allocates %v times for a pod without claims", n)
	}
}

func TestAttachments(t *testing.T) {
	d := newDisk()
	d.pod.Spec.NodeName = "n1"
	twin := d.pod.DeepCopy()
	twin.Name = "twin" // a second pod that uses the same volume
	broken := d.pod.DeepCopy()
	broken.Name = "broken"
	broken.Spec.Volumes[1].PersistentVolumeClaim.ClaimName = "missing"
	two := int32(2)
	s := d.snapshot().Apply(model.Delta{
		Pods:  []*corev1.Pod{twin, broken},
		Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n2"}}},
		CSINodes: []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{
				{Name: "ebs.csi.aws.com", Allocatable: &storagev1.VolumeNodeResources{Count: &two}},
				{Name: "unlimited"},
			},
		}}},
	})
	n1, _ := s.NodeByName("n1")
	n2, _ := s.NodeByName("n2")
	if got := fmt.Sprint(volume.AttachLimits(s, n1), volume.AttachedTo(s, n1)); got != "map[ebs.csi.aws.com:2 unlimited:9223372036854775807] map[ebs.csi.aws.com:map[vol-1:true]]" {
		t.Errorf("n1: %s", got)
	}
	if limits, used := volume.AttachLimits(s, n2), volume.AttachedTo(s, n2); limits != nil || len(used) > 0 {
		t.Errorf("n2: %v %v, want nothing known and nothing attached", limits, used)
	}
}

// A volume stays attached while a pod runs with it, whatever happens to its claim.
func TestAttachedWhileUsed(t *testing.T) {
	now := metav1.Now()
	for _, tt := range []struct {
		name  string
		given func(*disk)
		want  string
	}{
		{"claim is being deleted", func(d *disk) { d.claim.DeletionTimestamp = &now }, "map[ebs.csi.aws.com:map[vol-1:true]]"},
		{"volume is being deleted", func(d *disk) { d.volume.DeletionTimestamp = &now }, "map[ebs.csi.aws.com:map[vol-1:true]]"},
		{"claim is lost", func(d *disk) { d.claim.Status.Phase = corev1.ClaimLost }, "map[ebs.csi.aws.com:map[vol-1:true]]"},
		{"volume is gone", func(d *disk) { d.claim.Spec.VolumeName = "gone" }, "map[ebs.csi.aws.com:map[default/data:true]]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDisk()
			d.pod.Spec.NodeName = "n1"
			tt.given(d)
			s := d.snapshot().Apply(model.Delta{Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}})
			n, _ := s.NodeByName("n1")
			if got := fmt.Sprint(volume.AttachedTo(s, n)); got != tt.want {
				t.Errorf("AttachedTo = %s, want %s", got, tt.want)
			}
		})
	}
}
