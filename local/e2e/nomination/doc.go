// Package nomination measures the effect of nominations on the real scheduler. It runs the same pods on a bare cluster
// with nominations and, in long runs, on one without them.
//
//	go test ./e2e/nomination                                   needs bin/ (make build)
//	KARPENTER_LONG=1 go test -timeout 60m ./e2e/nomination     compares, on older servers too: a quarter of an hour
//	go test -short ./e2e/nomination                            skips it
package nomination
