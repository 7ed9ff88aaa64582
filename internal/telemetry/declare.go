package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Namespace begins the name of every metric that is Karpenter's own.
const Namespace = "karpenter"

// A Declaration is what the documentation says of one metric.
type Declaration struct {
	// Name is the full name, with the namespace.
	Name string
	// Type is counter, gauge, histogram or summary.
	Type string
	// Labels in the order in which WithLabelValues takes them.
	Labels []string
	Help   string
}

// A declarer makes metrics, registers them and remembers what it made.
type declarer struct {
	reg       prometheus.Registerer
	namespace string
	subsystem string
	declared  *[]Declaration
}

// in returns a declarer for the subsystem, which comes between the namespace and the name of a metric.
func (d declarer) in(subsystem string) declarer {
	d.subsystem = subsystem
	return d
}

// note registers c. A name that is taken is a broken invariant: every metric is declared once.
func (d declarer) note(c prometheus.Collector, kind, name, help string, labels []string) {
	*d.declared = append(*d.declared, Declaration{
		Name: d.fullName(name), Type: kind, Labels: slices.Clone(labels), Help: help,
	})
	d.reg.MustRegister(c)
}

func (d declarer) fullName(name string) string {
	return prometheus.BuildFQName(d.namespace, d.subsystem, name)
}

func (d declarer) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.fullName(name), Help: help}, labels)
	d.note(v, "counter", name, help, labels)
	return v
}

func (d declarer) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.fullName(name), Help: help}, labels)
	d.note(v, "gauge", name, help, labels)
	return v
}

func (d declarer) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: d.fullName(name), Help: help, Buckets: buckets,
	}, labels)
	d.note(v, "histogram", name, help, labels)
	return v
}

func (d declarer) summary(name, help string, labels ...string) *prometheus.SummaryVec {
	v := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Name: d.fullName(name), Help: help, Objectives: quantiles(),
	}, labels)
	d.note(v, "summary", name, help, labels)
	return v
}

// quantiles are those of every summary, each with the error that is allowed.
func quantiles() map[float64]float64 {
	return map[float64]float64{0: 0.01, 0.5: 0.01, 0.9: 0.01, 0.99: 0.01, 1: 0.01}
}
