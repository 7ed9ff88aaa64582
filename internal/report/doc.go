// Package report formats decisions for a terminal. It shows groups of nodes with bars for their used share, and their cost
// beside the lower bound. For pods that cannot be scheduled, it shows what would help.
//
// The same decision gives the same text. Colour is the caller's choice; without it the text is plain.
package report
