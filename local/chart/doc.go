// Package chart renders the project's Helm charts as Helm does, for tests: values checked against the schema, dependencies
// included, notes kept.
package chart
