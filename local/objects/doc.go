// Package objects reads Kubernetes objects from manifests and applies them to a cluster.
package objects
