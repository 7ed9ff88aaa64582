package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A WorkInProgress is a gauge with the labels controller and scheduling_id, which is always empty. Its value is the age of the work
// that the controller has begun and not finished, in seconds. It is computed when the metric is read. A controller has no value
// before its first work, and the value 0 between works.
type WorkInProgress struct {
	desc *prometheus.Desc

	mu  sync.Mutex
	age map[string]func() time.Duration // by controller; nil between works
}

// workInProgress declares a WorkInProgress.
func (d declarer) workInProgress(name, help string) *WorkInProgress {
	labels := []string{"controller", "scheduling_id"}
	w := &WorkInProgress{desc: prometheus.NewDesc(d.fullName(name), help, labels, nil), age: map[string]func() time.Duration{}}
	d.note(w, "gauge", name, help, labels)
	return w
}

// Begin records that the controller begins its work, until done is called. age returns the time since then. A controller has one work
// at a time.
func (w *WorkInProgress) Begin(controller string, age func() time.Duration) (done func()) {
	w.set(controller, age)
	return func() { w.set(controller, nil) }
}

func (w *WorkInProgress) set(controller string, age func() time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.age[controller] = age
}

// Describe sends the description of the metric.
func (w *WorkInProgress) Describe(descs chan<- *prometheus.Desc) { descs <- w.desc }

// Collect sends the current values.
func (w *WorkInProgress) Collect(metrics chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for controller, age := range w.age {
		seconds := 0.0
		if age != nil {
			seconds = age().Seconds()
		}
		metrics <- prometheus.MustNewConstMetric(w.desc, prometheus.GaugeValue, seconds, controller, "")
	}
}
