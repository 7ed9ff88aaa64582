// Package compile turns a snapshot and the pods to plan into a Problem. In a Problem, names are replaced by numbers. Each
// check is made once for all pods that are equal to kube-scheduler.
//
// A Problem holds
//
//   - classes: sets of pods that are equal to kube-scheduler, each with stages: from stage to stage, preferences of the
//     pods are dropped (class.go, stage.go);
//   - topology keys and groups: the pods that a spread, affinity or anti-affinity term selects (key.go, group.go);
//   - nodes: existing nodes and nodes in flight, with their free capacity (node.go);
//   - DaemonSets whose pods constraints of other pods count, or whose anti-affinity selects other pods (daemon.go);
//   - the catalog of instance types that may be launched (package catalog);
//   - counts: how many running and expected DaemonSet pods each group counts in each domain (counts.go).
//
// After Compile returns, only caches of a Problem change. Later phases change only clones of its Counts and of
// Catalog.Limits.
//
// Begin with problem.go.
package compile
