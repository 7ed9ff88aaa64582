// Package expiration deletes claims that are older than their expireAfter.
//
// An expired claim is deleted at once, regardless of budgets and replacements. Its pods are planned for while it drains.
package expiration
