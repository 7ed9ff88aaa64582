// Package mutant has planted defects that the simulation must find. A mutant is a text file with edits of product source files.
// The go command builds it with an overlay, so no source file is changed.
package mutant
