// Package overlay applies NodeOverlays to the instance types of each pool: they set prices and add resources.
//
// Begin with Apply, a pure function of the overlays and of the pools' types. For each price and each resource, the
// overlay with the highest weight takes precedence. Two overlays of the same weight that set the same value conflict.
// The first by descending name takes effect. The other has no effect at all, for any pool. These are Karpenter's rules:
// see docs/overlays.md.
package overlay
