// Package nodeoverlay applies NodeOverlays to instance types and validates them.
//
// Overlays are applied whenever instance types are read, so a new overlay has an effect from the next round on, before
// its validation. The controller writes to the status of each overlay whether it is applied. An overlay that conflicts
// with another one according to its status is not applied to any NodePool.
//
// The package has no state in memory: the overlays and their status determine which ones are applied.
package nodeoverlay
