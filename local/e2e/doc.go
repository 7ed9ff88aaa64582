// Package e2e proves that the whole works: its tests run against a local
// cluster that is started once, by the same code as karpenter-local up, with
// the programs in bin/.
//
// The cluster has ports and a directory of its own and goes down with the test
// process, however that ends: a watchdog outside it sees to that. Tests share
// it and therefore keep to names of their own.
//
//	go test ./e2e              needs bin/ (make build)
//	go test -short ./e2e       skips it all
package e2e
