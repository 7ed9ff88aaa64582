// Package kwok tests the behaviour that does not depend on the cloud. It uses a minimal cluster: a control plane,
// nodes without machines, and the controller with all feature gates on. Its tests follow the headings of upstream's
// regression suite.
//
// The cluster is started once, by the same code as karpenter-local up, with the programs in bin/. Tests share it and
// use different names, so most run in parallel.
//
//	go test ./e2e/kwok         needs bin/ (make build)
//	go test -short ./e2e/kwok  skips it all
package kwok
