// Package result defines the result of a solver's run, in a format that every solver can write. It scores all results
// by the same rules.
package result
