// Package telemetry declares what Karpenter reports: every metric, every event reason and every key of a log line,
// each in one place.
//
// Names, labels and buckets of metrics, and the reasons of events, are an interface that dashboards and alerts of users
// depend on, so they are those of upstream. docs/metrics.md and docs/events.md are generated from the declarations here.
//
// Nothing is global: NewMetrics registers with the registry it is given, and a Recorder and a logger are values handed
// down, so that tests run in parallel. What is kept in memory (events seen, lines sampled) is bounded and may be lost: the
// worst that follows is one event or line too many.
package telemetry
