// Package nodeoverlay brings NodeOverlays into force.
//
// They are laid over instance types whenever these are asked for, so nobody waits for them: an overlay holds from the next
// round on, and a pool without a say from its overlays works as it did. The controller tells on each overlay whether it is
// in force. What contradicts another overlay anywhere is, once told so, in force nowhere.
//
// The package keeps no state: what is in force follows from the overlays and their status.
package nodeoverlay
