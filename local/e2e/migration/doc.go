// Package migration holds what happens when a cluster comes from another
// autoscaler, or goes back to it, tried on a local cluster of its own.
//
//   - The other one is upstream Karpenter. Its objects are written here as it
//     leaves them: claims, nodes and instances with its labels, annotations,
//     finalizers, hash versions and tags, its lease, and definitions that still
//     list v1beta1. Our controller then takes over, and goes away again.
//   - The other one is Cluster Autoscaler. A stand-in grows and shrinks one
//     node group by its documented rules, while our controller runs beside it.
//
// The tests need bin/karpenter-local and bin/karpenter. With -short they are
// skipped.
package migration
