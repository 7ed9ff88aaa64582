package disruption

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A repairedPool is a NodePool with 20 nodes, one pod on each node and a budget of 10%. Some nodes are unhealthy from the
// beginning.
type repairedPool struct {
	*colony
	begun, ended map[string]time.Time // when nodes were marked, and when they were deleted
}

const poolSize = 20

// newRepairedPool returns a NodePool whose first nodes have been unhealthy for nine of the ten tolerated minutes. A new node is
// initialized after 40 seconds.
func newRepairedPool(t *testing.T, unhealthy int) *repairedPool {
	w := &repairedPool{colony: newEmptyColony(t, 40*time.Second), begun: map[string]time.Time{}, ended: map[string]time.Time{}}
	pool := &apiv1.NodePool{}
	w.must(w.client.Get(t.Context(), client.ObjectKey{Name: "default"}, pool))
	pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "10%"}}
	w.must(w.client.Update(t.Context(), pool))
	for i := range poolSize {
		w.node(i, "default", machine("large", 2, 0))
		w.pod(fmt.Sprintf("web-%d", i), fmt.Sprintf("node-%d", i))
	}
	for i := range unhealthy {
		n := &corev1.Node{}
		w.must(w.client.Get(t.Context(), client.ObjectKey{Name: fmt.Sprintf("node-%d", i)}, n))
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: gpu, Status: corev1.ConditionFalse, Reason: "Broken", LastTransitionTime: metav1.Time{Time: epoch.Add(-9 * time.Minute)},
		})
		w.must(w.client.Status().Update(t.Context(), n))
	}
	w.startRepair()
	return w
}

// startRepair starts a controller that repairs nodes, and whose voluntary disruption is paused.
func (w *repairedPool) startRepair() {
	w.start()
	w.c.Options.Repair, w.c.Options.Paused = policies(w.t), true
}

// observe records the beginnings of disruptions, checks the invariants, and returns the number of unhealthy nodes.
func (w *repairedPool) observe() (unhealthy int) {
	w.t.Helper()
	out, waiting, now := 0, 0, w.clock.Now()
	for _, n := range w.nodes() {
		for _, c := range n.Status.Conditions {
			if c.Type == gpu && c.Status == corev1.ConditionFalse {
				unhealthy++
			}
		}
	}
	for _, c := range w.claims() {
		if c.Annotations[apiv1.DisruptionBegunAnnotationKey] == "" {
			continue
		}
		out++
		if c.DeletionTimestamp == nil {
			waiting++
		}
		if w.begun[c.Name].IsZero() {
			w.begun[c.Name] = now
		}
	}
	if most := 2; out > most {
		w.t.Errorf("%s: %d nodes are repaired at the same time, the budget allows %d", now.Sub(epoch), out, most)
	}
	if unhealthy > poolSize/5 && waiting > 1 {
		w.t.Errorf("%s: %d nodes of %d are unhealthy, and %d wait for replacements, want one at a time", now.Sub(epoch), unhealthy, poolSize, waiting)
	}
	if n := len(w.claims()); n > poolSize+2 {
		w.t.Errorf("%s: there are %d claims for %d nodes", now.Sub(epoch), n, poolSize)
	}
	if lost := len(w.on("")); lost > out {
		w.t.Errorf("%s: %d pods wait, and %d nodes are repaired", now.Sub(epoch), lost, out)
	}
	return unhealthy
}

// Any share of unhealthy nodes is repaired within the budget, also above 20%, with one replacement for each node. Restarts of the
// controller change nothing.
func TestPoolHealsWithinItsBudget(t *testing.T) {
	for _, tt := range []struct {
		percent int
		// within is the time after which all nodes are healthy. The repair of one node takes a minute and a half.
		within time.Duration
	}{{20, 6 * time.Minute}, {60, 21 * time.Minute}} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d%%, restarts %v", tt.percent, restarts), func(t *testing.T) {
				broken := poolSize * tt.percent / 100
				w := newRepairedPool(t, broken)
				for pass := 0; w.observe() > 0; pass++ {
					if restarts && pass%4 == 3 {
						w.startRepair()
					}
					w.pass()
					if w.clock.Since(epoch) > tt.within {
						t.Fatalf("after %s %d nodes are unhealthy still", tt.within, w.observe())
					}
				}
				for name, at := range w.begun {
					if at.Sub(epoch) < time.Minute {
						t.Errorf("%s was repaired after %s, within the toleration", name, at.Sub(epoch))
					}
				}
				for range 6 {
					w.pass()
				}
				if len(w.claims()) != poolSize || w.made != broken || len(w.on("")) != 0 {
					t.Errorf("%d claims are left, %d were made, %d pods wait; want %d, %d, 0", len(w.claims()), w.made, len(w.on("")), poolSize, broken)
				}
				if counted := testutil.ToFloat64(w.c.Metrics.Disruption.DecisionsTotal.WithLabelValues("replace", "unhealthy", "")); !restarts &&
					int(counted) != broken {
					t.Errorf("%v decisions to replace are counted, want %d", counted, broken)
				}
			})
		}
	}
}
