// Package metrics tells of the objects in the cluster: of pods how long they wait and where they run, of nodes and pools
// how much they have, of everything with status conditions how these change.
//
// It decides nothing and writes nothing but metrics and events, so it can be left out as a whole
// (--disable-cluster-state-observability). What it remembers (which series it made, what it saw last) may be lost: after a
// restart counters begin at zero, as counters do, and changes during the restart are not reported.
package metrics
