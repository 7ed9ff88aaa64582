// Package pack decides which nodes a set of pending pods needs.
//
// It is a pure function from a snapshot of the cluster to a plan. Given the same Snapshot and Options it returns the same
// Plan, on any machine, at any speed. To keep that promise the package
//
//   - takes the time from Snapshot.Now and never reads a clock;
//   - bounds its work by counts and never by a deadline;
//   - breaks every tie by name, so no result depends on map order;
//   - writes no logs, events or metrics: what it has to say is in the Plan.
//
// Pods that look the same to the scheduler are one class with a count, and every check is made once a class. Pods go onto
// capacity that exists or is in flight first. For the rest, the linear relaxation of the problem yields what a unit of
// each resource is worth (its dual prices) and the floor that the plan is measured against; nodes are then opened by the
// pattern of pods that holds the most worth per dollar, over all types, until no pod is left. docs/packing.md tells more,
// and what the method gives up against an exact solver.
//
// What is decided: resources, node selectors, required node affinity, taints, daemons, pool weight, limits, minValues,
// capacity in flight. Preferences are not looked at. Pods that ask for what is not decided here (spread over domains, pod
// affinity, host ports, volumes, device claims) are refused by name rather than placed by luck.
package pack
