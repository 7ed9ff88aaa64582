// Package operator puts the program together: settings, clients, the provider and the controllers, run under one manager
// with leader election, health and metrics.
//
// It is the composition root. Nothing here decides, and nothing below it knows who its neighbours are.
package operator
