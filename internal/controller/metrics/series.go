package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// A sample is the value of one series.
type sample struct {
	vec    *prometheus.GaugeVec
	labels []string // in the order of the declaration
	value  float64
}

// series stores which series belong to which object, so that the series of a changed or deleted object can be deleted
// directly. A search in all series takes too long in a large cluster. The zero value is ready to use.
type series struct {
	mu      sync.Mutex // guards written
	written map[string]map[seriesKey]bool
}

// A seriesKey is the identity of one series. The values of its labels are joined by a byte that no UTF-8 text contains.
type seriesKey struct {
	vec    *prometheus.GaugeVec
	labels string
}

const labelSeparator = "\xff"

// replace makes the samples the only ones of the object.
func (s *series) replace(object string, samples []sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := make(map[seriesKey]bool, len(samples))
	for _, x := range samples {
		now[seriesKey{x.vec, strings.Join(x.labels, labelSeparator)}] = true
		x.vec.WithLabelValues(x.labels...).Set(x.value)
	}
	for key := range s.written[object] {
		if !now[key] {
			key.vec.DeleteLabelValues(strings.Split(key.labels, labelSeparator)...)
		}
	}
	if s.written == nil {
		s.written = map[string]map[seriesKey]bool{}
	}
	if len(now) == 0 {
		delete(s.written, object)
		return
	}
	s.written[object] = now
}
