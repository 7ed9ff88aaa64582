// Package watching waits until a list of Kubernetes objects meets a condition. It reads the list, and again after each
// change. So it does not sleep, and misses no change between reading and watching.
package watching
