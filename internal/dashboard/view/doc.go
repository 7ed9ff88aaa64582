// Package view has the JSON that the dashboard shows, and the pure functions that make it of a Snapshot and of what the
// controllers decided last.
//
// docs/api.md describes each field. A value that is not known is null and never 0. Lists are never null.
package view
