// Package chart renders the project's Helm charts as Helm does, for tests. It checks values against the schema,
// renders dependencies, and includes notes.
package chart
