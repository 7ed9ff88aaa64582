// Package telemetry declares all metrics, all reasons of events and all keys of log lines of Karpenter.
//
// Names, labels and buckets of metrics, and the reasons of events, are an interface that dashboards and alerts of users
// depend on. So they are those of upstream Karpenter, as far as it has them. docs/metrics.md and docs/events.md are
// generated from the declarations here.
//
// There are no global variables, so that tests can run in parallel: NewMetrics registers with the given registry, and Recorders
// and loggers are passed as arguments. Recent events and the counts of log lines are in bounded memory. The only effect of
// their loss is a repeated event or line.
package telemetry
