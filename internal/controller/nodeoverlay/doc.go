// Package nodeoverlay applies NodeOverlays to instance types and validates them.
//
// Overlays are applied whenever instance types are read, so an overlay is in force from the next round on, without waiting
// for its validation. The controller writes to the status of each overlay whether it is in force. An overlay whose status
// says that it contradicts another one is in force for no pool.
//
// The package keeps no state: the overlays and their status determine what is in force.
package nodeoverlay
