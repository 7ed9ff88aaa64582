// Package dismiss deletes claims that are no longer wanted, and counts them by cause. How they end is the affair of
// the claim's life cycle.
package dismiss
