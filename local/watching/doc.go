// Package watching waits until a list of Kubernetes objects looks as wanted.
// It reads the list and then again after each change, so it neither sleeps nor
// misses what happens between reading and watching.
package watching
