// Package overlay decides what NodeOverlays make of the instance types of each pool: other prices, more resources.
//
// It is a pure function of the overlays and of what the pools may launch. The heaviest overlay wins each price and each
// resource, of equals the last by name. Two of the same weight that set the same thing contradict each other: the one that
// comes second is given up as a whole, everywhere, so that an overlay is either in force or not. Karpenter keeps these
// rules: see docs/overlays.md.
//
// Nothing is remembered between calls, so a pool never waits for its overlays to be looked at.
package overlay
