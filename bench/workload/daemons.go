package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Daemons returns the four small daemons that most clusters on EC2 run on every node: together 300 millicores and 456 MiB.
func Daemons() []*appsv1.DaemonSet {
	return []*appsv1.DaemonSet{
		daemon("kube-proxy", 100, 128),
		daemon("aws-node", 50, 64),
		daemon("log-agent", 100, 200),
		daemon("node-agent", 50, 64),
	}
}

func daemon(name string, milliCPU, mebibytes int64) *appsv1.DaemonSet {
	labels := map[string]string{"app": name}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers:  []corev1.Container{{Name: "c", Image: "pause", Resources: Requests(milliCPU, mebibytes)}},
				},
			},
		},
	}
}
