// Package buffer decides how much room a CapacityBuffer asks for, and what its status says.
//
// The room is asked for as virtual pods: pods of the buffer's template that nobody has made. They take part in planning as
// pods that wait, with the lowest priority there is. Where they are planned, nodes are launched and kept. A real pod that
// comes takes their place without further ado, because nothing holds it; the next plan then finds other room for them.
//
// It is a pure function of the buffer and of the objects that it names.
package buffer
