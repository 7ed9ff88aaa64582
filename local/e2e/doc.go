// Package e2e has the end-to-end tests. They run against a local cluster that is started once, by the same code as
// karpenter-local up, with the programs in bin/.
//
// The cluster has its own ports and directory. A watchdog process stops it when the test process ends, even by a crash.
// Tests share the cluster and therefore use different names.
//
//	go test ./e2e              needs bin/ (make build)
//	go test -short ./e2e       skips it all
package e2e
