package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/disks"
)

// disk creates a claim, and returns a function that mounts it in a pod.
func (s *scene) disk(name string) func(*corev1.PodSpec) {
	s.t.Helper()
	s.put(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(disks.Class), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("8Gi"),
			}},
		},
	})
	return func(p *corev1.PodSpec) {
		p.Volumes = append(p.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
}

// volume returns the volume of a claim.
func (s *scene) volume(claim string) *corev1.PersistentVolume {
	s.t.Helper()
	c, v := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := s.Get(s.t.Context(), client.ObjectKey{Namespace: s.name, Name: claim}, c); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Get(s.t.Context(), client.ObjectKey{Name: c.Spec.VolumeName}, v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// attachedTo returns the nodes to which the volume is attached.
func (s *scene) attachedTo(volume string) (nodes []string) {
	s.t.Helper()
	var list storagev1.VolumeAttachmentList
	s.list(&list)
	for _, a := range list.Items {
		if ptr.Deref(a.Spec.Source.PersistentVolumeName, "") == volume && a.Status.Attached {
			nodes = append(nodes, a.Spec.NodeName)
		}
	}
	return nodes
}

// hold sets or removes the annotation that keeps the volume attached.
func (s *scene) hold(volume string, held bool) {
	s.t.Helper()
	value := "null"
	if held {
		value = `"true"`
	}
	patch := client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, disks.HoldKey, value))
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}}
	if err := s.Patch(s.t.Context(), v, patch); err != nil {
		s.t.Fatal(err)
	}
}

func zoneOf(o client.Object) string { return o.GetLabels()[corev1.LabelTopologyZone] }

// moved waits until the pod with the volume runs on another node than from, in the zone of the volume. The volume must be
// attached to that node only.
func (s *scene) moved(from *corev1.Node, volume string) {
	s.t.Helper()
	s.poll(func() string {
		for _, n := range s.nodes() {
			if n.Name == from.Name {
				return "node " + n.Name + " is still there"
			}
		}
		return ""
	})
	pod := s.awaitRunning("db", 1)[0]
	var to corev1.Node
	if err := s.Get(s.t.Context(), client.ObjectKey{Name: pod.Spec.NodeName}, &to); err != nil {
		s.t.Fatal(err)
	}
	if zoneOf(&to) != zoneOf(from) {
		s.t.Errorf("the pod went from zone %s to %s, and its volume stays behind", zoneOf(from), zoneOf(&to))
	}
	s.poll(func() string {
		if at := s.attachedTo(volume); len(at) != 1 || at[0] != to.Name {
			return fmt.Sprintf("volume %s is attached to %v, want %s", volume, at, to.Name)
		}
		return ""
	})
}

// nodeOf returns the node of the only pod of a Deployment.
func (s *scene) nodeOf(deployment string) *corev1.Node {
	s.t.Helper()
	node := &corev1.Node{}
	pod := s.awaitRunning(deployment, 1)[0]
	if err := s.Get(s.t.Context(), client.ObjectKey{Name: pod.Spec.NodeName}, node); err != nil {
		s.t.Fatal(err)
	}
	return node
}

// A pod stays in the zone of its volume. When its node drifts, the replacement is launched in that zone, and the termination of
// the old node waits until the volume is detached. The pool allows all zones at the same price.
func TestDriftMovesVolumeWithinZone(t *testing.T) {
	t.Parallel()
	s := newScene(t, "zonal")
	s.class()
	s.pool("zonal", needs{typesOf("m6i.large"), zones("us-east-1c")}, lively(apiv1.Budget{Nodes: "100%"}))
	s.deploy("db", 1, "1", s.disk("data"))
	s.awaitRunning("db", 1)
	s.settled(1)
	from, volume := s.nodeOf("db"), s.volume("data").Name
	s.poll(func() string {
		if at := s.attachedTo(volume); len(at) != 1 || at[0] != from.Name {
			return fmt.Sprintf("volume %s is attached to %v, want %s", volume, at, from.Name)
		}
		return ""
	})

	s.hold(volume, true)
	s.change("zonal", func(p *apiv1.NodePool) { // now the zone of the volume is one of several
		p.Spec.Template.Spec.Requirements[1] = zones("us-east-1a", "us-east-1b", "us-east-1c")
		p.Spec.Template.Annotations = map[string]string{"example.com/generation": "2"}
	})
	s.awaitEvent(about{kind: "Node", prefix: from.Name, reason: "AwaitingVolumeDetachment"})
	for _, i := range s.instances() {
		if i.Node == from.Name && i.State != "running" {
			t.Errorf("instance %s is %s while a volume is attached to it", i.ID, i.State)
		}
	}
	if at := s.attachedTo(volume); len(at) != 1 || at[0] != from.Name {
		t.Errorf("volume %s is attached to %v, and should not have been let go of", volume, at)
	}
	s.hold(volume, false)
	s.moved(from, volume)
}
