// Package serve offers a cloud.Provider to other processes by the protocol of providers.
//
// It sends the results of the provider unchanged. It reads the catalogue at intervals, and after each call that may
// change the catalogue, and sends the changes.
package serve
