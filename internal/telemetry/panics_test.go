package telemetry

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/karpenter-go/karpenter/internal/parallel"
)

// Recovered panics are counted from the start of the program, including those before the metric is registered.
func TestPanicsAreCounted(t *testing.T) {
	var out bytes.Buffer
	panics := &Panics{}
	log, err := NewLogger(LogOptions{Out: &out, Level: "error", Panics: panics})
	if err != nil {
		t.Fatal(err)
	}
	log = log.WithName("controller").WithValues("NodePool", "default")
	log.Error(errors.New("panic: index out of range"), "internal error: one of several operations failed, the others go on")
	m := NewMetrics(prometheus.NewRegistry(), nil)
	panics.Export(m.RecoveredPanicsTotal.WithLabelValues())
	want := func(n float64) {
		t.Helper()
		if got := testutil.ToFloat64(m.RecoveredPanicsTotal); got != n {
			t.Errorf("%v panics are counted, want %v", got, n)
		}
	}
	want(1)
	log.Error(errors.New("run batch CreateFleet: panic: nil map"), "batch failed")
	want(2)
	log.Error(errors.New("panic: nil map [recovered]"), "Reconciler error") // not counted, because controller-runtime counts it
	log.Error(errors.New("connection refused"), "failed to refresh prices")
	log.Info("panic: no error")
	want(2)
	errs := parallel.Do(logr.NewContext(t.Context(), log), 2, 0, func(i int) error {
		if i == 1 {
			panic("second")
		}
		return nil
	})
	want(3)
	if errs[0] != nil || errs[1] == nil {
		t.Errorf("errors are %v, want one for the second", errs)
	}
}
