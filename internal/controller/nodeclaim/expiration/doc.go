// Package expiration deletes claims that are older than their expireAfter.
//
// An expired claim is deleted at once, without regard to budgets and before it has a replacement. Its pods are planned for
// while its node drains.
package expiration
