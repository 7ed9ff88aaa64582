package cluster

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

func TestVolumesFollowTheScheduler(t *testing.T) {
	w := withNodes(t, 4)
	create(w, StorageClass("gp3"))
	create(w, StatefulSet("default", "db", 2, Template("db", "1", "1Gi"), "gp3"))
	w.run(30 * time.Second)
	w.wantReady("db", 2)
	for _, pod := range w.podsOf("db") {
		claim := find[*corev1.PersistentVolumeClaim](w, "default", claimNames(pod)[0])
		if claim.Status.Phase != corev1.ClaimBound || claim.Annotations[volume.AnnBindCompleted] == "" {
			t.Errorf("claim %s is %s with %v", claim.Name, claim.Status.Phase, claim.Annotations)
		}
		pv := find[*corev1.PersistentVolume](w, "", claim.Spec.VolumeName)
		node := find[*corev1.Node](w, "", pod.Spec.NodeName)
		other := map[string]string{corev1.LabelTopologyZone: "other"}
		if volume.CheckNodeAffinity(pv, node.Labels) != nil || volume.CheckNodeAffinity(pv, other) == nil {
			t.Errorf("the volume of %s is not limited to the zone of its node", pod.Name)
		}
		a := find[*storagev1.VolumeAttachment](w, "", attachmentName(pv.Name, pod.Spec.NodeName))
		if !a.Status.Attached {
			t.Errorf("the volume of %s is not attached", pod.Name)
		}
	}
	edit(w, "default", "db", func(s *appsv1.StatefulSet) { zero := int32(0); s.Spec.Replicas = &zero })
	w.run(time.Minute)
	if n, m := kubeapi.Len[*storagev1.VolumeAttachment](w.server), kubeapi.Len[*corev1.PersistentVolumeClaim](w.server); n != 0 || m != 2 {
		t.Errorf("after the pods ended, %d attachments and %d claims exist", n, m)
	}
	for _, claim := range kubeapi.List[*corev1.PersistentVolumeClaim](w.server) {
		w.remove(claim)
	}
	w.run(time.Second)
	if n := kubeapi.Len[*corev1.PersistentVolume](w.server); n != 0 {
		t.Errorf("%d volumes exist after their claims were deleted", n)
	}
}

func TestAttachmentsOutliveTheirPods(t *testing.T) {
	w := withNodes(t, 1)
	create(w, StorageClass("gp3"))
	create(w, StatefulSet("default", "db", 1, Template("db", "1", "1Gi"), "gp3"))
	w.run(30 * time.Second)
	w.remove(find[*appsv1.StatefulSet](w, "default", "db"))
	for range 200 {
		w.run(100 * time.Millisecond)
		if len(w.podsOf("db")) == 0 {
			break
		}
	}
	w.run(time.Second)
	if len(w.podsOf("db")) != 0 || kubeapi.Len[*storagev1.VolumeAttachment](w.server) != 1 {
		t.Errorf("%d pods and %d attachments a second after the pod", len(w.podsOf("db")), kubeapi.Len[*storagev1.VolumeAttachment](w.server))
	}
	w.run(6 * time.Second)
	if n := kubeapi.Len[*storagev1.VolumeAttachment](w.server); n != 0 {
		t.Errorf("%d attachments exist after 7 s", n)
	}
}

// A pod that moves starts only after its volume was detached from the node that it left.
func TestVolumeIsAttachedOnce(t *testing.T) {
	w := withNodes(t, 3)
	create(w, StorageClass("gp3"))
	create(w, StatefulSet("default", "db", 1, Template("db", "1", "1Gi"), "gp3"))
	w.run(30 * time.Second)
	first := w.podsOf("db")[0]
	edit(w, "", first.Spec.NodeName, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	w.settle()
	w.remove(first)
	for range 300 {
		w.run(100 * time.Millisecond)
		attached := 0
		for _, a := range kubeapi.List[*storagev1.VolumeAttachment](w.server) {
			if a.Status.Attached {
				attached++
			}
		}
		if attached > 1 {
			t.Fatal("the volume is attached to two nodes")
		}
	}
	w.wantReady("db", 1)
	if second := w.podsOf("db")[0]; second.Spec.NodeName == first.Spec.NodeName {
		t.Error("the pod did not move")
	}
}

func TestUnusableNodeIsUnselected(t *testing.T) {
	w := newWorld(t, 1)
	class := StorageClass("gp3")
	class.AllowedTopologies = []corev1.TopologySelectorTerm{{
		MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"z1"}}},
	}}
	create(w, class)
	w.addNode("elsewhere", "z2")
	name := "gp3"
	for claim, node := range map[string]string{"a": "missing", "b": "elsewhere"} {
		create(w, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim, Annotations: map[string]string{volume.AnnSelectedNode: node}},
			Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &name},
		})
	}
	w.run(time.Minute)
	for _, claim := range kubeapi.List[*corev1.PersistentVolumeClaim](w.server) {
		if claim.Status.Phase != corev1.ClaimPending || len(claim.Annotations) > 0 {
			t.Errorf("claim %s is %s with %v", claim.Name, claim.Status.Phase, claim.Annotations)
		}
	}
}

func TestImmediateBinding(t *testing.T) {
	w := withNodes(t, 2)
	class := StorageClass("now")
	mode := storagev1.VolumeBindingImmediate
	class.VolumeBindingMode = &mode
	name := "now"
	create(w, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &name},
	})
	w.run(10 * time.Second)
	create(w, class)
	w.run(10 * time.Second)
	if claim := find[*corev1.PersistentVolumeClaim](w, "default", "a"); claim.Status.Phase != corev1.ClaimBound {
		t.Errorf("the claim is %s", claim.Status.Phase)
	}
}

func TestEphemeralVolumes(t *testing.T) {
	w := withNodes(t, 1)
	create(w, StorageClass("gp3"))
	template, name := Template("web", "1", "1Gi"), "gp3"
	template.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &name}},
	}}}}
	create(w, Deployment("default", "web", 1, template))
	w.run(30 * time.Second)
	w.wantReady("web", 1)
	w.remove(find[*appsv1.Deployment](w, "default", "web"))
	w.run(30 * time.Second)
	if n, m := kubeapi.Len[*corev1.PersistentVolumeClaim](w.server), kubeapi.Len[*corev1.PersistentVolume](w.server); n != 0 || m != 0 {
		t.Errorf("%d claims and %d volumes exist after their pod", n, m)
	}
}

func TestCSINodes(t *testing.T) {
	w := withNodes(t, 1)
	drivers := find[*storagev1.CSINode](w, "", "node-0").Spec.Drivers
	if len(drivers) != 1 || drivers[0].Name != Driver || *drivers[0].Allocatable.Count != 25 {
		t.Errorf("drivers are %+v", drivers)
	}
	w.remove(find[*corev1.Node](w, "", "node-0"))
	w.settle()
	if n := kubeapi.Len[*storagev1.CSINode](w.server); n != 0 {
		t.Errorf("%d CSINodes exist without a node", n)
	}
}
