package disruption

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Each reason that keeps nodes is told with what it costs: a node of $0.40 whose pod is worth half of a node of $0.10.
func TestBlockedDollars(t *testing.T) {
	w := newDearWorld(t)
	w.Options.Paused = true
	w.pass(pause)
	lost := func(rule string) float64 {
		return testutil.ToFloat64(w.Metrics.Disruption.BlockedDollarsPerHour.WithLabelValues("default", rule))
	}
	if got := lost("policy"); math.Abs(got-0.35) > 0.001 {
		t.Errorf("the pause costs $%.4f/h by the metric, want $0.35", got)
	}
	w.Options.Paused = false
	w.pass(poll)
	if got := lost("policy"); got != 0 {
		t.Errorf("$%.4f/h are still lost to a pause that is over", got)
	}
}

// Churn is measured: a node that goes within a day of having come in the place of others counts, an older one does not.
func TestRedisruptionsAreCounted(t *testing.T) {
	for age, want := range map[time.Duration]float64{time.Hour: 1, 25 * time.Hour: 0} {
		w := newWorld(t, "100%", 1)
		claim := w.claims()[0]
		claim.Annotations = map[string]string{apiv1.ReplacedTypesAnnotationKey: "xlarge/on-demand"}
		claim.CreationTimestamp = metav1.Time{Time: w.clock.Now().Add(-age)}
		w.update(&claim)
		w.watch()
		w.pass(pause)
		w.want(1, 0, 1)
		if got := testutil.ToFloat64(w.Metrics.Disruption.RedisruptionsTotal.WithLabelValues("default")); got != want {
			t.Errorf("a node that came %v ago counts %v, want %v", age, got, want)
		}
	}
}
