package manifest

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
)

// An Object is an object of a kind of Kubernetes or Karpenter that was read.
type Object interface {
	metav1.Object
	runtime.Object
}

// A kind describes how objects of one kind are decoded.
type kind struct {
	// object is the Go type, without pointer.
	object reflect.Type
	// ours is true for kinds of Karpenter: their objects are validated and defaulted by the schema in api/crds.
	ours bool
	// namespaced is true for kinds with a namespace, which defaults to "default".
	namespaced bool
}

// configMaps is the kind ConfigMap.
var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// controllerMaps are the names of the ConfigMaps that Read keeps: the published settings of the controller, and its pauses
// and rate limits.
var controllerMaps = [...]string{"karpenter-decisions", "karpenter-throttle"}

// kinds are the kinds that Read decodes. Objects of other kinds are skipped, unless their group is in groups. ConfigMaps
// are skipped, except controllerMaps.
var kinds = map[schema.GroupVersionKind]kind{
	corev1.SchemeGroupVersion.WithKind("Pod"):                   of[corev1.Pod](true),
	corev1.SchemeGroupVersion.WithKind("Node"):                  of[corev1.Node](false),
	corev1.SchemeGroupVersion.WithKind("Namespace"):             of[corev1.Namespace](false),
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"): of[corev1.PersistentVolumeClaim](true),
	corev1.SchemeGroupVersion.WithKind("PersistentVolume"):      of[corev1.PersistentVolume](false),
	corev1.SchemeGroupVersion.WithKind("PodTemplate"):           of[corev1.PodTemplate](true),
	corev1.SchemeGroupVersion.WithKind("LimitRange"):            of[corev1.LimitRange](true),
	configMaps: of[corev1.ConfigMap](true),
	corev1.SchemeGroupVersion.WithKind("Service"):                   of[corev1.Service](true),
	appsv1.SchemeGroupVersion.WithKind("Deployment"):                of[appsv1.Deployment](true),
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"):               of[appsv1.StatefulSet](true),
	appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):                of[appsv1.ReplicaSet](true),
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"):                 of[appsv1.DaemonSet](true),
	batchv1.SchemeGroupVersion.WithKind("Job"):                      of[batchv1.Job](true),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"):     of[policyv1.PodDisruptionBudget](true),
	schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"):       of[schedulingv1.PriorityClass](false),
	nodev1.SchemeGroupVersion.WithKind("RuntimeClass"):              of[nodev1.RuntimeClass](false),
	storagev1.SchemeGroupVersion.WithKind("StorageClass"):           of[storagev1.StorageClass](false),
	storagev1.SchemeGroupVersion.WithKind("CSINode"):                of[storagev1.CSINode](false),
	apiv1.GroupVersion.WithKind("NodePool"):                         own[apiv1.NodePool](false),
	apiv1.GroupVersion.WithKind("NodeClaim"):                        own[apiv1.NodeClaim](false),
	awsv1.GroupVersion.WithKind("EC2NodeClass"):                     own[awsv1.EC2NodeClass](false),
	kwokv1alpha1.GroupVersion.WithKind("KWOKNodeClass"):             own[kwokv1alpha1.KWOKNodeClass](false),
	clusterapiv1alpha1.GroupVersion.WithKind("ClusterAPINodeClass"): own[clusterapiv1alpha1.ClusterAPINodeClass](false),
	overlayv1alpha1.GroupVersion.WithKind("NodeOverlay"):            own[overlayv1alpha1.NodeOverlay](false),
	autoscalingv1beta1.GroupVersion.WithKind("CapacityBuffer"):      own[autoscalingv1beta1.CapacityBuffer](true),
}

func of[T any](namespaced bool) kind {
	return kind{object: reflect.TypeFor[T](), namespaced: namespaced}
}

func own[T any](namespaced bool) kind {
	return kind{object: reflect.TypeFor[T](), namespaced: namespaced, ours: true}
}

// new returns an empty object.
func (k kind) new() Object { return reflect.New(k.object).Interface().(Object) }

// groups are the API groups of Karpenter. An object of these groups whose kind is not in kinds has another version or
// is misspelt, so it is an error and not skipped.
var groups = map[string]bool{
	apiv1.GroupVersion.Group: true, awsv1.GroupVersion.Group: true, kwokv1alpha1.GroupVersion.Group: true,
	clusterapiv1alpha1.Group:              true,
	autoscalingv1beta1.GroupVersion.Group: true,
}
