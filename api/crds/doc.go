// Package crds holds the CustomResourceDefinitions of every API kind, which
// hack/gen generates from the Go types.
package crds
