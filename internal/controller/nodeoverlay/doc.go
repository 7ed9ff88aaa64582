// Package nodeoverlay applies NodeOverlays to instance types and validates them.
//
// Overlays are applied whenever instance types are listed. So a new overlay has an effect from the next round on, before
// its validation. The controller writes to the status of each overlay whether it is applied. An overlay whose status says
// that its validation failed, such as because of a conflict with another one, is applied to no NodePool.
//
// The package has no state in memory. The overlays and their status determine which overlays are applied.
package nodeoverlay
