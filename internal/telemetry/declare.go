package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Namespace is the prefix of the metrics that Karpenter itself defines, except those of ConditionMetrics.
const Namespace = "karpenter"

// A Declaration has the facts about one metric from which docs/metrics.md is generated.
type Declaration struct {
	// Name is the full name, with the namespace.
	Name string
	// Type is counter, gauge, histogram or summary.
	Type string
	// Labels are in the order in which WithLabelValues takes them.
	Labels []string
	Help   string
}

// A declarer creates and registers metrics, and collects their Declarations.
type declarer struct {
	reg       prometheus.Registerer
	namespace string
	subsystem string
	declared  *[]Declaration
}

// in returns a declarer for the subsystem, the part between the namespace and the rest of a metric's name.
func (d declarer) in(subsystem string) declarer {
	d.subsystem = subsystem
	return d
}

// note registers c and adds its Declaration. It panics if a metric of that name is registered already, since every
// metric must be declared once.
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

// quantiles returns the quantiles of every summary, with their allowed errors.
func quantiles() map[float64]float64 {
	return map[float64]float64{0: 0.01, 0.5: 0.01, 0.9: 0.01, 0.99: 0.01, 1: 0.01}
}
