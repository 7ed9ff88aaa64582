// Package expiration deletes claims that have lived their time.
//
// An expired claim goes at once: neither budgets nor replacements hold it. Its pods are planned anew while it drains.
package expiration
