// Package operator puts the program together: settings, clients, the provider and the controllers, run under one manager
// with leader election, health and metrics.
//
// It is the composition root. It makes no decisions, and the packages below it are connected only here.
package operator
