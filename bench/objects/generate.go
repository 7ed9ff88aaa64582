package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// owned returns entries of managedFields of about size bytes together.
func owned(size int) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	for _, manager := range []string{"kubelet", "kube-controller-manager", "karpenter"} {
		var fields []string
		for n := 0; n < size/3; n += 40 {
			fields = append(fields, fmt.Sprintf(`"f:field-%08d-of-manager":{"f:a":{}}`, n))
		}
		raw := metav1.NewFieldsV1(`{"f:metadata":{` + strings.Join(fields, ",") + `}}`)
		out = append(out, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: raw,
		})
	}
	return out
}

// enlargeNode adds to the node what nodes have in production, about 50 kB of JSON.
func enlargeNode(n *corev1.Node, i int) {
	for k := range 200 {
		n.Labels[fmt.Sprintf("feature.node.kubernetes.io/cpu-cpuid.FEATURE%03d", k)] = "true"
	}
	n.Annotations = map[string]string{
		"csi.volume.kubernetes.io/nodeid": fmt.Sprintf(`{"ebs.csi.aws.com":"i-%017x","efs.csi.aws.com":"i-%017x"}`, i, i),
		"node.alpha.kubernetes.io/ttl":    "300", "example.com/inventory": strings.Repeat("inventory ", 200),
	}
	for k := range 50 {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(fmt.Sprintf("ProblemDetector%02d", k)), Status: corev1.ConditionFalse, Reason: "NoProblem",
			Message: "the detector found no problem on the node in the last period", LastHeartbeatTime: metav1.NewTime(born),
			LastTransitionTime: metav1.NewTime(born),
		})
	}
	for k := range 50 {
		digest := strings.Repeat(fmt.Sprintf("%02x", k), 32)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{SizeBytes: 1 << 28, Names: []string{
			fmt.Sprintf("123456789012.dkr.ecr.us-east-1.amazonaws.com/team/service-%02d@sha256:%s", k, digest),
			fmt.Sprintf("123456789012.dkr.ecr.us-east-1.amazonaws.com/team/service-%02d:v1.2.%d", k, k),
		}})
	}
	n.ManagedFields = owned(9000)
}

// born is when the first objects were made. In the templates of pods it stands for the time of the pod.
var born = time.Unix(1_780_000_000, 0).UTC()

// pod returns a pod as production has it, about 8 kB of JSON, on the node or pending if node is empty.
func pod(name, node, app string, needs corev1.ResourceRequirements) *corev1.Pod {
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team-" + app, UID: types.UID("uid-" + name), ResourceVersion: "1",
			CreationTimestamp: metav1.NewTime(born),
			Labels: map[string]string{
				"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app, "app.kubernetes.io/part-of": "shop",
				"pod-template-hash": "5d8f7c9b6d", "version": "v1.2.3", "team": "team-" + app,
			},
			Annotations: map[string]string{
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": strings.Repeat("0f", 32),
				"sidecar.istio.io/status": `{"initContainers":["istio-init"],"volumes":["` + strings.Repeat("istio-data,", 50) + `"]}`,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-5d8f7c9b6d", UID: types.UID("uid-" + app), Controller: &yes,
			}},
			ManagedFields: owned(2000),
		},
		Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: app, SchedulerName: "default-scheduler"},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending, PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}},
		},
	}
	if node != "" {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = nil
		for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: t, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(born),
			})
		}
	}
	for i, container := range []string{"main", "proxy"} {
		c := corev1.Container{
			Name: container, Image: "123456789012.dkr.ecr.us-east-1.amazonaws.com/team/" + app + ":v1.2.3", Args: []string{"--port=8080", "--log-level=info"},
			Ports: []corev1.ContainerPort{{ContainerPort: 8080}}, VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}}},
			LivenessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/live", Port: intstr.FromInt32(8080)}}},
		}
		if i == 0 {
			c.Resources = needs
		}
		for k := range 15 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SERVICE_SETTING_%02d", k), Value: "https://service.team.svc.cluster.local:8443/v1"})
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
		if node != "" {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: container, Ready: true, Image: c.Image, ImageID: c.Image + "@sha256:" + strings.Repeat("0f", 32),
				ContainerID: "containerd://" + strings.Repeat("a5", 32), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
				Resources: &corev1.ResourceRequirements{Requests: maps.Clone(c.Resources.Requests)}, AllocatedResources: maps.Clone(c.Resources.Requests),
			})
		}
	}
	for _, volume := range []string{"config", "secrets", "kube-api-access"} {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app}},
		}})
	}
	return p
}

// A template is an object as JSON, in which the text of each placeholder is replaced. It is faster than to encode each object.
type template []byte

func newTemplate(o any) (template, error) { return json.Marshal(o) }

// with returns the JSON with the replacements, which are pairs of a placeholder and its text.
func (t template) with(replacements ...string) []byte {
	out := []byte(t)
	for i := 0; i < len(replacements); i += 2 {
		out = bytes.ReplaceAll(out, []byte(replacements[i]), []byte(replacements[i+1]))
	}
	return out
}
