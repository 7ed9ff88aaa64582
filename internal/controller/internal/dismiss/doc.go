// Package dismiss deletes claims that are no longer needed, and counts them by cause. The controller of the claim's life
// cycle terminates their instances.
package dismiss
