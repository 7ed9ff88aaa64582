package provision

import (
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
)

// The price of a node with pods of several namespaces is divided among the namespaces by the number of pods.
func TestPricesOfNamespaces(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 3, 2)
	s := w.Cluster.Snapshot()
	for _, p := range s.Pending()[:1] {
		moved := p.Object.DeepCopy()
		w.Cluster.Remove(p.Object)
		moved.Namespace = "tenant"
		w.Cluster.Set(moved)
	}
	w.clock.Step(w.BatchMax)
	w.reconcile()
	sum := w.Metrics.Scheduler.LaunchedDollarsPerHourTotal
	price := 0.0
	for _, claim := range w.claims() {
		price += map[string]float64{"2": 0.1, "4": 0.4, "6": 0.4}[claim.Spec.Resources.Requests.Name(corev1.ResourceCPU, "").String()]
	}
	tenant, rest := testutil.ToFloat64(sum.WithLabelValues("tenant")), testutil.ToFloat64(sum.WithLabelValues("default"))
	if price == 0 || math.Abs(tenant+rest-price) > 1e-9 || tenant <= 0 || tenant >= rest {
		t.Errorf("namespaces have %v and %v of a price of %v", tenant, rest, price)
	}
}
