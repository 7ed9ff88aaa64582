// Package steering measures what nominating pods to the nodes that they were planned for is worth on the real scheduler: the
// same pods on a bare cluster without it and on one with it.
//
//	go test ./e2e/steering         needs bin/ (make build)
//	go test -short ./e2e/steering  skips it
package steering
