// Package status reads the state of a disruption from nodes and claims: which nodes are marked, why, and which claims
// replace them. Begin with Disrupting and Reason.
//
// Everything is stored on the objects, so it survives a restart of the process that wrote it.
package status
