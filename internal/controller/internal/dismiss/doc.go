// Package dismiss deletes NodeClaims that are no longer needed, and counts them by cause. The controller
// nodeclaim.lifecycle terminates their instances.
package dismiss
