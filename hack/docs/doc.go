// Command docs generates parts of the manual from the code: docs/metrics.md, docs/events.md, docs/settings.md,
// docs/lint.md and others.
//
// The core's metrics and events come from the declarations in internal/telemetry. Providers declare their own metrics
// beside the code that writes them, so these are read from the source: every prometheus.New… call below provider/ whose
// options are literals. A call that cannot be read is an error, so that no metric stays undocumented. Settings are read
// from the flags, rules of lint from internal/lint.
//
//	cd hack && go run ./docs
//
// With -check it writes nothing and fails if a file is stale.
package main
