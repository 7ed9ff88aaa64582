// Package report formats decisions for a terminal: nodes in groups with bars for how full they are, their cost beside the
// floor, and the pods that cannot be scheduled, with what would help.
//
// The same decision gives the same text. Colour is the caller's choice; without it the text is plain.
package report
