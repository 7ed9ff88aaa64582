// Package migration tests the migration of a cluster from another autoscaler to this controller and back, on its own
// local cluster.
//
//   - From upstream Karpenter. The tests create objects in the state in which upstream leaves them: claims, nodes and
//     instances with upstream's labels, annotations, finalizers, hash versions and tags, its Lease, and CRDs that still
//     list v1beta1. Then the controller of this project is started, and stopped again.
//   - From Cluster Autoscaler. A simple emulation scales one node group by the documented rules of Cluster Autoscaler,
//     while the controller of this project runs at the same time.
//
// The tests need bin/karpenter-local and bin/karpenter. With -short they are
// skipped.
package migration
