package disks

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// Driver is the name of the driver, Class that of its storage class.
	Driver = "disks.csi.local"
	Class  = "zonal"
	// EBS is the name of AWS's driver, which is emulated too, so that manifests for EKS run.
	EBS = "ebs.csi.aws.com"
	// HoldKey is the annotation of a PersistentVolume that must not be detached. It may have any value.
	HoldKey = Driver + "/hold"
	// PerNode is the maximum number of volumes of one driver that are attached to a node.
	PerNode = 26

	// attacherFinalizer is the prefix of the finalizer of an attachment whose volume is not detached yet.
	attacherFinalizer = "external-attacher/"
	// provisionedBy is the annotation with the driver that made a volume.
	provisionedBy = "pv.kubernetes.io/provisioned-by"
	// selectedNode is the annotation of a PersistentVolumeClaim by which kube-scheduler requests a volume for a node.
	selectedNode = "volume.kubernetes.io/selected-node"
	// hollowNode is the annotation of nodes that have no kubelet of their own.
	hollowNode = "kwok.x-k8s.io/node"
)

// played are the emulated drivers.
var played = []string{Driver, EBS}

// A driver emulates the controllers of CSI drivers.
type driver struct{ client.Client }

// Run emulates the drivers until ctx is done.
func Run(ctx context.Context, config *rest.Config) error {
	log.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return fmt.Errorf("make disks: %w", err)
	}
	if err := install(ctx, mgr.GetClient()); err != nil {
		return err
	}
	d := &driver{Client: mgr.GetClient()}
	if err := d.register(mgr); err != nil {
		return fmt.Errorf("register disks: %w", err)
	}
	return mgr.Start(ctx)
}

// install creates the CSIDrivers and the storage class.
func install(ctx context.Context, c client.Client) error {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	objects := []client.Object{&storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: Class}, Provisioner: Driver, VolumeBindingMode: &wait,
	}}
	for _, name := range played {
		objects = append(objects, &storagev1.CSIDriver{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       storagev1.CSIDriverSpec{AttachRequired: ptr.To(true), PodInfoOnMount: ptr.To(false)},
		})
	}
	for _, o := range objects {
		if err := c.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("install %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// registerNode creates the CSINode with the attach limit of the node, as the driver's pod on the node would.
func (d *driver) registerNode(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := d.Get(ctx, r.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if node.Annotations[hollowNode] == "" || node.Labels[corev1.LabelTopologyZone] == "" || node.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	// Each heartbeat of the node triggers this function, so the cache is asked before the API server.
	if err := d.Get(ctx, r.NamespacedName, &storagev1.CSINode{}); !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	own := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID,
		}}},
	}
	for _, name := range played {
		own.Spec.Drivers = append(own.Spec.Drivers, storagev1.CSINodeDriver{
			Name: name, NodeID: node.Name, TopologyKeys: []string{corev1.LabelTopologyZone},
			Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](PerNode)},
		})
	}
	err := d.Create(ctx, own)
	if apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}

// provision creates the volume of a PersistentVolumeClaim after kube-scheduler has chosen the node.
func (d *driver) provision(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var claim corev1.PersistentVolumeClaim
	if err := d.Get(ctx, r.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name := claim.Annotations[selectedNode]
	if claim.Spec.VolumeName != "" || name == "" {
		return ctrl.Result{}, nil
	}
	var class storagev1.StorageClass
	if err := d.Get(ctx, client.ObjectKey{Name: ptr.Deref(claim.Spec.StorageClassName, "")}, &class); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !slices.Contains(played, class.Provisioner) {
		return ctrl.Result{}, nil
	}
	var node corev1.Node
	if err := d.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	err := d.Create(ctx, volumeOf(&claim, class.Provisioner, node.Labels[corev1.LabelTopologyZone]))
	if apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}

// volumeOf returns the volume that a driver creates for a PersistentVolumeClaim in a zone. by is the name of the driver.
func volumeOf(claim *corev1.PersistentVolumeClaim, by, zone string) *corev1.PersistentVolume {
	name := "pvc-" + string(claim.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{provisionedBy: by},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes, StorageClassName: *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: by, VolumeHandle: name},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
				}}}},
			}},
		},
	}
}

// reclaim deletes a volume of an emulated driver after its PersistentVolumeClaim was deleted, if its reclaim policy is
// Delete.
func (d *driver) reclaim(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var volume corev1.PersistentVolume
	if err := d.Get(ctx, r.NamespacedName, &volume); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ours := slices.Contains(played, volume.Annotations[provisionedBy])
	if !ours || volume.Status.Phase != corev1.VolumeReleased || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(d.Delete(ctx, &volume))
}
