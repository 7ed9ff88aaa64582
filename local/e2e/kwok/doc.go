// Package kwok proves the behaviour that is the same on every cloud, on the smallest cluster there is: a bare control plane,
// nodes without machines and the controller with all feature gates on. Its tests follow the headings of upstream's
// regression suite.
//
// The cluster is started once, by the same code as karpenter-local up, with the programs in bin/. Tests share it and keep
// to corners of their own, so most run side by side.
//
//	go test ./e2e/kwok         needs bin/ (make build)
//	go test -short ./e2e/kwok  skips it all
package kwok
