package disks

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// register adds the controllers of the driver to mgr.
func (d *driver) register(mgr ctrl.Manager) error {
	for _, b := range []struct {
		name string
		of   client.Object
		do   reconcile.Func
		also client.Object // another kind that triggers the controller, by the map
		by   handler.MapFunc
	}{
		{"disks.nodes", &corev1.Node{}, d.registerNode, nil, nil},
		{"disks.claims", &corev1.PersistentVolumeClaim{}, d.provision, nil, nil},
		{"disks.volumes", &corev1.PersistentVolume{}, d.reclaim, nil, nil},
		{"disks.attachments", &storagev1.VolumeAttachment{}, d.attach, &corev1.PersistentVolume{}, d.attachmentsOf},
	} {
		builder := ctrl.NewControllerManagedBy(mgr).Named(b.name).For(b.of)
		if b.also != nil {
			builder = builder.Watches(b.also, handler.EnqueueRequestsFromMapFunc(b.by))
		}
		if err := builder.Complete(b.do); err != nil {
			return err
		}
	}
	return nil
}

// attachmentsOf returns the attachments of a volume.
func (d *driver) attachmentsOf(ctx context.Context, volume client.Object) []reconcile.Request {
	var list storagev1.VolumeAttachmentList
	if err := d.List(ctx, &list); err != nil {
		return nil // the watch of attachments has failed as well, and reconciles all of them when it is restored
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if ptr.Deref(list.Items[i].Spec.Source.PersistentVolumeName, "") == volume.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// attach attaches or detaches the volume of a VolumeAttachment.
func (d *driver) attach(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var a storagev1.VolumeAttachment
	if err := d.Get(ctx, r.NamespacedName, &a); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !slices.Contains(played, a.Spec.Attacher) {
		return ctrl.Result{}, nil
	}
	before := a.DeepCopy()
	lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if a.DeletionTimestamp != nil {
		held, err := d.held(ctx, &a)
		if err != nil || held || !controllerutil.RemoveFinalizer(&a, attacherFinalizer+a.Spec.Attacher) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, client.IgnoreNotFound(d.Patch(ctx, &a, lock))
	}
	if controllerutil.AddFinalizer(&a, attacherFinalizer+a.Spec.Attacher) {
		return ctrl.Result{}, d.Patch(ctx, &a, lock) // the change triggers the next reconcile
	}
	if a.Status.Attached {
		return ctrl.Result{}, nil
	}
	a.Status.Attached = true
	return ctrl.Result{}, d.Status().Patch(ctx, &a, lock)
}

// held reports whether HoldKey keeps the volume attached.
func (d *driver) held(ctx context.Context, a *storagev1.VolumeAttachment) (bool, error) {
	var volume corev1.PersistentVolume
	err := d.Get(ctx, client.ObjectKey{Name: ptr.Deref(a.Spec.Source.PersistentVolumeName, "")}, &volume)
	_, held := volume.Annotations[HoldKey]
	return held, client.IgnoreNotFound(err)
}
