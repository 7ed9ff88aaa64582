// Package objects reads Kubernetes objects from manifests and makes a cluster
// hold them.
package objects
