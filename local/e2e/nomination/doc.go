// Package nomination measures what nominating pods to the nodes that they were planned for is worth on the real scheduler: the
// same pods on a bare cluster with it and, in long runs, on one without it.
//
//	go test ./e2e/nomination                                   needs bin/ (make build)
//	KARPENTER_LONG=1 go test -timeout 60m ./e2e/nomination     compares, on older servers too: a quarter of an hour
//	go test -short ./e2e/nomination                            skips it
package nomination
