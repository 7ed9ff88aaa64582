package disks

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// A world is a driver and the objects that it reads.
type world struct {
	*driver
	t *testing.T
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).
		WithStatusSubresource(&storagev1.VolumeAttachment{}).Build()
	return &world{driver: &driver{Client: c}, t: t}
}

// ask reconciles an object several times. Repeated calls must change nothing.
func (w *world) ask(o client.Object, answer func(r ctrl.Request) error) {
	w.t.Helper()
	for range 3 {
		if err := answer(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// see reads an object again, and reports whether it exists.
func (w *world) see(o client.Object) bool {
	w.t.Helper()
	err := w.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return err == nil
}

func node(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{hollowNode: "fake"}, Labels: map[string]string{corev1.LabelTopologyZone: zone},
	}}
}

// A claim gets its volume from the driver of its class, in the zone of the node that was chosen for it. Before a node is
// chosen, it gets none.
func TestProvision(t *testing.T) {
	for _, driver := range []string{Driver, EBS} {
		t.Run(driver, func(t *testing.T) { provisions(t, driver) })
	}
}

func provisions(t *testing.T, driver string) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: driver}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "1"}}
	claim.Spec.StorageClassName = ptr.To("gp3")
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}
	w := newWorld(t, class, claim, node("n", "b"))
	answer := func(r ctrl.Request) error { _, err := w.provision(t.Context(), r); return err }
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-1"}}
	if w.ask(claim, answer); w.see(volume) {
		t.Fatal("a volume was made before it was known where")
	}
	w.see(claim)
	claim.Annotations = map[string]string{selectedNode: "n"}
	if err := w.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if w.ask(claim, answer); !w.see(volume) {
		t.Fatal("no volume was made")
	}
	zone := volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values
	if !slices.Equal(zone, []string{"b"}) || volume.Spec.ClaimRef.UID != "1" {
		t.Errorf("the volume is in %v for %v", zone, volume.Spec.ClaimRef)
	}
	if volume.Spec.CSI.Driver != driver || volume.Spec.StorageClassName != "gp3" {
		t.Errorf("%s of class %s made it", volume.Spec.CSI.Driver, volume.Spec.StorageClassName)
	}
	volume.Status.Phase = corev1.VolumeReleased
	if err := w.Status().Update(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	w.ask(volume, func(r ctrl.Request) error { _, err := w.reclaim(t.Context(), r); return err })
	if w.see(volume) {
		t.Error("a released volume was not deleted")
	}
}

// The driver makes no volume for a class of another driver, and does not delete volumes that it did not make.
func TestOtherDrivers(t *testing.T) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "nfs"}, Provisioner: "csi.example.com"}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "data", UID: "1", Annotations: map[string]string{selectedNode: "n"},
	}}
	claim.Spec.StorageClassName = ptr.To("nfs")
	theirs := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	theirs.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: EBS, VolumeHandle: "vol-1"}
	theirs.Spec.PersistentVolumeReclaimPolicy, theirs.Status.Phase = corev1.PersistentVolumeReclaimDelete, corev1.VolumeReleased
	w := newWorld(t, class, claim, theirs, node("n", "b"))
	w.ask(claim, func(r ctrl.Request) error { _, err := w.provision(t.Context(), r); return err })
	if w.see(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-1"}}) {
		t.Error("a volume was made for a class of another driver")
	}
	w.ask(theirs, func(r ctrl.Request) error { _, err := w.reclaim(t.Context(), r); return err })
	if !w.see(theirs) {
		t.Error("a volume that was not made here is gone")
	}
}

// A deleted attachment exists until its volume is detached. HoldKey on the
// volume delays that.
func TestAttach(t *testing.T) {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", Annotations: map[string]string{HoldKey: ""}}}
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	a.Spec.Attacher, a.Spec.NodeName, a.Spec.Source.PersistentVolumeName = Driver, "n", ptr.To("v")
	other := a.DeepCopy()
	other.Name, other.Spec.Attacher = "other", "csi.example.com"
	w := newWorld(t, volume, a, other)
	answer := func(r ctrl.Request) error { _, err := w.attach(t.Context(), r); return err }
	w.ask(a, answer)
	w.ask(other, answer)
	if w.see(a); !a.Status.Attached || len(a.Finalizers) != 1 {
		t.Errorf("attached %v, finalizers %v", a.Status.Attached, a.Finalizers)
	}
	if w.see(other); other.Status.Attached {
		t.Error("the volume of another driver was attached")
	}
	if err := w.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if w.ask(a, answer); !w.see(a) || !a.Status.Attached {
		t.Fatal("a volume that is held was detached")
	}
	w.see(volume)
	volume.Annotations = nil
	if err := w.Update(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	if got := w.attachmentsOf(t.Context(), volume); len(got) != 2 {
		t.Errorf("a change of the volume wakes %v", got)
	}
	if w.ask(a, answer); w.see(a) {
		t.Error("the attachment is still there")
	}
}

// A CSINode is created for a node once its zone is known.
func TestRegisterNode(t *testing.T) {
	there, lost, real := node("there", "a"), node("lost", ""), node("real", "a")
	real.Annotations = nil
	w := newWorld(t, there, lost, real)
	for _, n := range []*corev1.Node{there, lost, real} {
		w.ask(n, func(r ctrl.Request) error { _, err := w.registerNode(t.Context(), r); return err })
		tells := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		if got := w.see(tells); got != (n == there) {
			t.Errorf("node %s tells what it can attach: %v", n.Name, got)
		} else if got && *tells.Spec.Drivers[0].Allocatable.Count != PerNode {
			t.Errorf("it says %+v", tells.Spec.Drivers)
		}
	}
}
