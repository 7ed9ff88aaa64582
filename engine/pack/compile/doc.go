// Package compile turns a snapshot and its pending pods into a Problem: numbers instead of names, each check made once for
// all pods that are alike.
//
// A Problem holds
//
//   - classes: pods that are the same to kube-scheduler, with the stages in which their preferences are given up (class.go,
//     stage.go);
//   - topology keys and groups: which pods each spread, affinity or anti-affinity term counts, by domain (key.go, group.go);
//   - nodes: capacity that exists or is in flight, with its free room (node.go);
//   - DaemonSets that other pods' constraints look at (daemon.go);
//   - the catalog of what may be launched (package catalog);
//   - initial counts of pods by group and domain (counts.go).
//
// Nothing in a Problem changes after Compile returns. Phases that place pods work on clones of its Counts and Limits.
//
// Begin with problem.go.
package compile
