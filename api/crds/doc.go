// Package crds holds the CustomResourceDefinitions of every API kind, as
// generated from the Go types by hack/gen.
package crds
