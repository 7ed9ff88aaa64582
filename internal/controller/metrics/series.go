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

// shared is the value of samples in a series that several objects share. The value of such a series is the number of these
// objects.
const shared = -1

// series stores the series of each object, so that the series of a changed or deleted object can be deleted directly. A search in
// all series takes too long in a large cluster. The zero value is ready to use.
type series struct {
	mu      sync.Mutex // guards written
	written map[string]map[seriesKey]bool
	// holders is the number of objects that have each shared series.
	holders map[seriesKey]int
}

// A seriesKey identifies a series. labels has the values of its labels, joined by a byte that no UTF-8 text contains.
type seriesKey struct {
	vec    *prometheus.GaugeVec
	labels string
}

const labelSeparator = "\xff"

// replace writes the samples of the object and deletes its other series.
func (s *series) replace(object string, samples []sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := make(map[seriesKey]bool, len(samples))
	for _, x := range samples {
		key := seriesKey{x.vec, strings.Join(x.labels, labelSeparator)}
		if now[key] {
			continue
		}
		now[key] = true
		if x.value != shared {
			x.vec.WithLabelValues(x.labels...).Set(x.value)
		} else if !s.written[object][key] {
			s.hold(key, 1)
		}
	}
	for key := range s.written[object] {
		switch {
		case now[key]:
		case s.holders[key] > 0:
			s.hold(key, -1)
		default:
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

// hold changes the number of objects that have a shared series. The caller holds mu.
func (s *series) hold(key seriesKey, by int) {
	if s.holders == nil {
		s.holders = map[seriesKey]int{}
	}
	s.holders[key] += by
	labels := strings.Split(key.labels, labelSeparator)
	if s.holders[key] == 0 {
		delete(s.holders, key)
		key.vec.DeleteLabelValues(labels...)
		return
	}
	key.vec.WithLabelValues(labels...).Set(float64(s.holders[key]))
}
