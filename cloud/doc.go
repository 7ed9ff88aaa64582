// Package cloud is the contract between Karpenter and a cloud: what a Provider must do, and the types of errors that it
// returns.
//
// A provider is a value that package operator passes to the controllers. Its Facts hold its labels, node class kinds and
// repair policies; nothing is registered globally. cloudtest is the test suite that every provider must pass, and
// docs/providers.md describes how to write a provider.
//
// All methods may be called concurrently and must return when ctx is done. A method that waits for a slow cloud must not
// delay other calls.
package cloud
