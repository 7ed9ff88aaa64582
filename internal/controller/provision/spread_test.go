package provision

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/internal/observe/inputs"
)

// The scheduler's default spread constraints apply to a pod without constraints if services can be read and a service selects the
// pod.
func TestDefaultSpread(t *testing.T) {
	for name, tt := range map[string]struct {
		services bool
		want     int
	}{
		"spread":                    {services: true, want: 2},
		"services without a reader": {want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			everyone := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: "default"}}
			everyone.Spec.Selector = map[string]string{"app": "web"}
			w.Spread = &inputs.Spread{
				Reader:   fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(everyone).Build(),
				Services: tt.services,
				Constraints: []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
				}},
			}
			w.pend("web", 2, 1)
			for _, p := range w.Cluster.Snapshot().Pods.Values() {
				o := p.Object.DeepCopy()
				o.Labels = map[string]string{"app": "web"}
				w.Cluster.Set(o)
			}
			w.clock.Step(time.Second)
			w.reconcile()
			if n := len(w.claims()); n != tt.want {
				t.Errorf("%d nodes, want %d", n, tt.want)
			}
		})
	}
}
