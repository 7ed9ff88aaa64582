// Package pack decides which nodes a set of pending pods needs.
//
// It is a pure function from a snapshot of the cluster to a plan. Given the same Snapshot and Options it returns the same
// Plan, on any machine, at any speed. To keep that promise the package
//
//   - takes the time from Snapshot.Now and never reads a clock;
//   - bounds its work by counts and never by a deadline;
//   - breaks every tie by name, so that no result depends on map order;
//   - writes no logs, events or metrics: what it has to say is in the Plan.
//
// # Phases
//
// Solve runs phases. Each takes the immutable problem and the value of the phase before it, and returns a new value.
//
//	Snapshot ─ compile.Compile ─► compile.Problem    pod classes, topology groups, nodes, what may be launched
//	Problem  ─ assign.Assign ───► assign.Assignment  pods on existing nodes (package existing); segments for new ones
//	Segments ─ packNodes ───────► packing            which pods share a new node (package binpack)
//	packing  ─ draftPlan ───────► draft              all types that a node may be launched as, refusals, the Plan
//	draft    ─ repair ──────────► Plan               places for single pods that the draft refuses
//
// SolveChecked has every plan checked by package verify and leaves out what does not hold.
//
// # Where to begin
//
// Read solve.go first: it is one screen. Then take the phase that a question is about: which pods are alike and what they
// require (compile/class.go, compile/stage.go), what is on offer (catalog/pool.go), which domain a pod gets
// (assign/assign.go), which node (binpack's doc.go, then packing.go here), why a pod is refused (refusal.go).
// docs/packing.md describes the method and its limitations, docs/words.md the terms.
package pack
