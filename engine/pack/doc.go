// Package pack decides which nodes a set of pending pods needs.
//
// Its main function, Solve, is a pure function from a snapshot of the cluster to a plan. The same Snapshot and Options
// give the same Plan on every machine. For this, the package
//
//   - takes the time from Snapshot.Now and never reads a clock;
//   - limits its work by numbers of steps and never by a deadline;
//   - breaks every tie by a fixed order, such as that of names, so that no result depends on map order;
//   - writes no logs, events or metrics: all results are in the Plan.
//
// # Phases
//
// Solve first refuses oversized pods and those of Options.Excluded (exclude.go). Then it runs phases. The first one compiles
// the snapshot into a Problem. Each later phase takes results of earlier phases, and returns a new value.
//
//	Snapshot ─ compile.Compile ─► compile.Problem    classes of equal pods, topology groups, nodes, instance types
//	Problem  ─ assign.Assign ───► assign.Assignment  pods on existing nodes (package existing); segments: pods for new nodes
//	Segments ─ packNodes ───────► packing            the pods of each new node (package binpack)
//	packing  ─ draftPlan ───────► draft              the instance types of each node, refused pods, a first Plan
//	draft    ─ solve ───────────► Plan               or another attempt, with quotas or without the refused pods
//
// A segment is pods of one class that need new nodes in the same topology domains, see assign.Segment. If some pods of a
// segment get no node, a quota limits how many pods of the class later attempts assign to these domains: to the number that
// got a node there (assign.Quotas). The preferences of a pod are dropped in stages, see compile/stage.go.
//
// SolveChecked checks the plan with package verify. If the plan breaks a rule, it removes the parts that break it, and
// refuses their pods (salvage.go).
//
// # Where to begin
//
// Read solve.go first. Then read the phase that answers the question:
//
//   - which pods are equal, and what do they require: compile/class.go, compile/stage.go;
//   - which instance types may a pool launch: catalog/pool.go;
//   - which domain does a pod get: assign/assign.go;
//   - which node does a pod get: doc.go of package binpack, then packing.go here;
//   - why is a pod refused: refusal.go.
//
// docs/packing.md describes the method and its limitations. docs/words.md defines the terms.
package pack
