// Package wire translates between the contract with a cloud and the messages of the protocol of providers.
//
// What comes over the wire is hostile input. Each Read function checks lengths, counts, names and amounts, and returns a
// Rejection for the first message that breaks a rule. Nothing that was read is used before it was checked.
package wire
