package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The functions of this file return typical objects in a namespace. Their pods have the label app with the name of the object.
// The caller may change the objects before they are created.

// appLabel is the label of pods that names their workload.
const appLabel = "app"

// Template returns a pod template with one container that requests CPU and memory.
func Template(name, cpu, memory string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: name}, Annotations: map[string]string{EndsAfter: "2s"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "registry.example/" + name,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			}},
		}}},
	}
}

// selectorOf returns the selector of the pods of a workload.
func selectorOf(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: name}}
}

// Deployment returns a Deployment.
func Deployment(namespace, name string, replicas int32, template corev1.PodTemplateSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selectorOf(name), Template: template},
	}
}

// StatefulSet returns a StatefulSet. Each of its pods has one volume of the StorageClass class, or none if class is empty.
func StatefulSet(namespace, name string, replicas int32, template corev1.PodTemplateSpec, class string) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selectorOf(name), Template: template, ServiceName: name},
	}
	if class != "" {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
			},
		}}
	}
	return set
}

// DaemonSet returns a DaemonSet.
func DaemonSet(namespace, name string, template corev1.PodTemplateSpec) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.DaemonSetSpec{Selector: selectorOf(name), Template: template},
	}
}

// Job returns a Job whose pods run for a duration, such as "2m".
func Job(namespace, name string, completions, parallelism int32, runsFor string, template corev1.PodTemplateSpec) *batchv1.Job {
	template.Annotations[RunsFor] = runsFor
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism, Template: template},
	}
}

// Budget returns a PodDisruptionBudget for the pods of a workload. MaxUnavailable is a number or a percentage.
func Budget(namespace, name, maxUnavailable string) *policyv1.PodDisruptionBudget {
	limit := intstr.Parse(maxUnavailable)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selectorOf(name), MaxUnavailable: &limit},
	}
}

// StorageClass returns a class of the cluster's driver whose volumes are provisioned where their first pod is scheduled.
func StorageClass(name string) *storagev1.StorageClass {
	mode, policy := storagev1.VolumeBindingWaitForFirstConsumer, corev1.PersistentVolumeReclaimDelete
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: Driver, VolumeBindingMode: &mode, ReclaimPolicy: &policy,
	}
}
