// Package wire converts between the contract with a cloud and the messages of the protocol of providers.
//
// Messages are untrusted input. Each Read function checks lengths, counts, names and amounts, and returns a Rejection
// for the first value that breaks a rule. No value is used before it was checked.
package wire
