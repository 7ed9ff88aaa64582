// Package result holds what one run of a solver came to, in a form that every solver can write, and judges all of them by
// one rule.
package result
