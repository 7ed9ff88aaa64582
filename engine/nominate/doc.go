// Package nominate decides which pods carry the name of a node in status.nominatedNodeName, and which new nodes need not stay
// closed to pods any longer.
//
// A plan puts pods onto nodes, but kube-scheduler binds them. A pod that is nominated to a node is tried there first, and other
// pods of no higher priority leave its room free. So a plan that fills its nodes stays feasible.
//
// Decide looks at a snapshot and returns the nominations to write and the claims whose pods all have theirs. The package promises
//
//   - no memory: everything follows from the snapshot. Where pods were planned is in Snapshot.Promises, or in the nominations
//     themselves after a restart;
//   - a nomination is a hint: the scheduler erases it after an attempt that failed, and Decide returns it again. One that another
//     writer has set is never changed;
//   - a bound: no node waits for the nominations of other nodes for longer than maxWaitForNominations. The lifecycle of claims bounds
//     how long a node waits for its own.
package nominate
