// Package watching waits until a list of Kubernetes objects meets a condition.
// It reads the list and then again after each change, so it neither sleeps nor
// misses changes between reading and watching.
package watching
