// Package compile turns a snapshot and its pending pods into a Problem. A Problem uses numbers instead of names, and
// holds the results of checks that are made once for all equal pods.
//
// A Problem holds
//
//   - classes: sets of pods that are equal to kube-scheduler, with the stages in which their preferences are dropped
//     (class.go, stage.go);
//   - topology keys and groups: the pods that each spread, affinity or anti-affinity term counts, by domain (key.go,
//     group.go);
//   - nodes: existing nodes and nodes in flight, with their free capacity (node.go);
//   - DaemonSets whose pods matter to constraints of other pods (daemon.go);
//   - the catalog of instance types that may be launched (package catalog);
//   - counts of the running pods, by group and domain (counts.go).
//
// A Problem does not change after Compile returns. Phases that place pods work on clones of its Counts and Limits.
//
// Begin with problem.go.
package compile
