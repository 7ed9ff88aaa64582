// Package mutant has planted defects that the simulation must find. A mutant is a text file with edits of source files of the
// product. The go command builds the product with these edits as an overlay, so no source file is changed.
package mutant
