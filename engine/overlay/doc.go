// Package overlay applies NodeOverlays to the instance types of each pool. A NodeOverlay sets or adjusts prices, and
// adds resources.
//
// Begin with Apply, a pure function of the overlays and of the pools' types. For each price and each resource, the
// overlay with the highest weight takes precedence. Two overlays of the same weight that set the same value conflict.
// Of the two, the overlay whose name is last in alphabetical order takes effect. The other has no effect on any pool.
// These are Karpenter's rules: see docs/overlays.md.
package overlay
