// Package result defines the result of a solver's run, in a format that every solver can write, and judges all results by the
// same rules.
package result
