// Package mutant has defects that the simulation must find. Each is a text file with edits of the product. A mutant is built with
// an overlay of the go command, so no file of the product is changed.
package mutant
