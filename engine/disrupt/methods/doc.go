// Package methods removes nodes for reasons other than the price of their pods: emptiness, drift, expiry and repair, and the
// number of nodes of static NodePools.
//
// A method takes a State and the candidates that are due for its reason, and returns a new State with the commands that it
// found and a verdict for every candidate that it would have taken but for something.
package methods
