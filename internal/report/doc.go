// Package report shows decisions on a terminal: nodes in groups with bars for how full they are, what they cost beside the
// floor, and who got no place and what would help.
//
// The same decision gives the same text. Colour is the caller's choice; without it the text is plain.
package report
