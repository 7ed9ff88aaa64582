package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/live"
)

// A capture has no secrets, and simulate and explain decide for it as for the cluster: with the pauses of the controller and
// the room that CapacityBuffers keep.
func TestCaptureIsInputOfCommands(t *testing.T) {
	scheme, err := live.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	container := corev1.Container{
		Name: "c", Image: "registry.example/secret", Command: []string{"run"}, Env: []corev1.EnvVar{{Name: "TOKEN", Value: "hunter2"}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}},
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", Annotations: map[string]string{"vault": "hunter2"}}}
	pod.Spec.Containers = []corev1.Container{container}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "spare"}}
	template.Template.Spec.Containers = []corev1.Container{container}
	buffer := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "room", UID: "room"}}
	buffer.Spec.PodTemplateRef, buffer.Spec.Replicas = &autoscalingv1beta1.LocalObjectRef{Name: "spare"}, ptr.To(int32(2))
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool"}}
	pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: apiv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"on-demand"}},
	}
	pool.Status.Conditions = []metav1.Condition{{
		Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now(),
	}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		pod, template, buffer, pool, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		published(t, map[string]string{"feature-gates": "CapacityBuffer=true"}), configMap(throttle.MapName, map[string]string{"pause-launches": "true"}),
	).WithIndex(&corev1.ConfigMap{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).Build()

	list, warnings, err := captureOf(t.Context(), kube)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	var text bytes.Buffer
	if err := writeCapture(&text, list); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "registry.example", "TOKEN", `"run"`} {
		if strings.Contains(text.String(), secret) {
			t.Errorf("the capture has %s", secret)
		}
	}
	file := filepath.Join(t.TempDir(), "cluster.json")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, err := run(t, simulateCommand(), "-f", file)
	if err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
	for _, want := range []string{
		"launches are paused (pause-launches): the controller launches no node now\n", "3 pending pods: 3 on ",
		"settings of the controller: ConfigMap default/karpenter-decisions of the manifests\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("simulate does not print %q:\n%s", want, out)
		}
	}
	out, _, err = run(t, explainCommand(), "pod", "web", "-n", "shop", "-f", file)
	if err != nil || !strings.Contains(out, "launches are paused") || !strings.Contains(out, "fits on a new node of NodePool default") {
		t.Errorf("explain: %v\n%s", err, out)
	}
}
