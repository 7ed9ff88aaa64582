// Package condition decides how the status conditions of an object change.
//
// Conditions that together make an object ready are its dependents; they are
// summarized in one root condition, Ready. The package promises that
//
//   - Initialize and Set add missing dependents and a missing root, Unknown
//     from the creation of the object until a controller sets them;
//   - lastTransitionTime moves only when the status of a condition changes;
//   - every Set stores the generation of the object in the condition;
//   - a dependent set for an older generation does not count as healthy, so
//     the root is never True for a spec that no controller has read;
//   - the list is sorted by type, with the root last.
//
// It is pure: the time of a change is an argument, nothing is written to a
// cluster.
package condition
