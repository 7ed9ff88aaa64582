// Package capacitybuffer keeps room for pods to come, as CapacityBuffers ask.
//
// Buffers are resolved into virtual pods each time that a round begins, from the objects they name as they are then. The
// controller tells on each buffer what became of it. There is no state: where virtual pods are planned is among the
// promises of the observed cluster, which the next round makes again.
package capacitybuffer
