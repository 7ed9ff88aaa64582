// Package serve offers a cloud.Provider to other processes by the protocol of providers.
//
// It adds nothing to the provider: what the provider answers goes over the wire. The catalogue is read at intervals, and
// after each call that may change it. The changes are sent.
package serve
