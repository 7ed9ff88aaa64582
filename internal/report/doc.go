// Package report formats decisions for a terminal. It shows groups of nodes with bars for their used share, their cost
// beside the lower bound, and the pods that cannot be scheduled with what would help.
//
// The same decision gives the same text. Colour is the caller's choice; without it the text is plain.
package report
