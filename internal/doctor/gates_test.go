package doctor

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
)

// Objects whose feature gate is off are reported as long as the gates of the controller are known.
func TestObjectsWithoutTheirGate(t *testing.T) {
	static := pool("fixed")
	static.Spec.Replicas = new(int64(2))
	objects := []client.Object{
		static,
		&apiv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, &apiv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
		&autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}},
	}
	const (
		overlays = "2 NodeOverlays without effect, because the feature gate NodeOverlay is off"
		buffers  = "1 CapacityBuffer without effect, because the feature gate CapacityBuffer is off"
		pools    = "1 static NodePool without effect, because the feature gate StaticCapacity is off"
	)
	for _, tt := range []struct {
		name, gates string
		want        []string
	}{
		{"by default", "", []string{overlays, buffers, pools}},
		{"some are on", "StaticCapacity=true, NodeOverlay=true,CapacityBuffer=false", []string{buffers}},
		{"the last entry counts", "NodeOverlay=true,CapacityBuffer=true,StaticCapacity=true,NodeOverlay=false", []string{overlays}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cluster := running()
			cluster[0].(*appsv1.Deployment).Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "FEATURE_GATES", Value: tt.gates}}}}
			text := look(t, server{"36", today}, "", append(cluster, objects...)...)
			for _, w := range tt.want {
				if !strings.Contains(text, w) {
					t.Errorf("lacks %q:\n%s", w, text)
				}
			}
			if got := strings.Count(text, "without effect"); got != len(tt.want) {
				t.Errorf("%d kinds are reported, want %d:\n%s", got, len(tt.want), text)
			}
		})
	}
	if text := look(t, server{"36", today}, "", objects...); strings.Contains(text, "without effect") {
		t.Errorf("reported although the gates are not known:\n%s", text)
	}
}
