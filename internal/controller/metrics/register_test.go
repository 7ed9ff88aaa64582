package metrics

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// All controllers can be registered with one manager: their kinds are in the scheme, and their names are unique. No API server is
// needed.
func TestRegister(t *testing.T) {
	w := newWorld(t)
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: w.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // the test may run more than once in a process
	})
	w.must(err)
	options := ConditionOptions{
		Client: w, Clock: w.clock, Events: w, Metrics: telemetry.NewConditionMetrics(w.reg, "nodeclaim", "node"),
	}
	claims, err := NewConditions(apiv1.GroupVersion.WithKind("NodeClaim"), options)
	w.must(err)
	nodes, err := NewConditions(corev1.SchemeGroupVersion.WithKind("Node"), options)
	w.must(err)
	names := map[string]bool{}
	for _, c := range []interface {
		Name() string
		Register(ctrl.Manager) error
	}{
		w.pods(), claims, nodes, &NodePools{Client: w, Metrics: w.metrics.NodePools},
		&Nodes{Cluster: observe.New(w.clock), Clock: w.clock, Metrics: w.metrics},
		&ClusterState{Cluster: observe.New(w.clock), Clock: w.clock, Metrics: w.metrics.ClusterState},
	} {
		if names[c.Name()] {
			t.Errorf("%s is there twice", c.Name())
		}
		names[c.Name()] = true
		if err := c.Register(mgr); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
}
