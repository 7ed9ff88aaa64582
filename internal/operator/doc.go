// Package operator connects settings, clients, the provider and the controllers, and runs them under one manager with
// leader election, health probes and metrics.
//
// It is the composition root: the other packages are connected only here. It makes no decisions.
package operator
