// Package expiration deletes claims that are older than their expireAfter.
//
// An expired claim is deleted regardless of budgets and replacements. Its pods are planned for while it drains. Within ten
// minutes, at most a fifth of all claims is deleted, and ten at least.
package expiration
