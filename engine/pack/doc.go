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
// capacity that exists or is in flight first. For the rest, the domains that their rules about other pods ask for are settled,
// and what is then alike is packed: the linear relaxation of the problem yields what a unit of each resource is worth (its
// dual prices) and the floor that the plan is measured against; nodes are opened by the pattern of pods that holds the most
// worth per dollar, over all types, until no pod is left; then a few at a time are closed and opened in other ways, and what
// is cheaper stays. docs/packing.md tells more, and what the method gives up against an exact solver.
//
// What is decided: all that kube-scheduler's filters look at but device claims, which are refused by name; preferences, while
// there is a way; pool weight, limits, minValues, reservations, priorities under limits, capacity in flight.
package pack
