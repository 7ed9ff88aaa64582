// Package expiration deletes claims that are older than their expireAfter.
//
// An expired claim is deleted regardless of disruption budgets and without waiting for replacements. Provisioning launches nodes
// for its pods during the drain. Within ten minutes, at most a fifth of all claims are deleted, or ten if that is more.
package expiration
