// Package nominate decides which pods get status.nominatedNodeName, and from which new nodes the taint that excludes
// pods may be removed.
//
// A plan places pods on nodes, but kube-scheduler binds them. For a nominated pod it tries the nominated node first,
// and it reserves the capacity against other pods of at most the same priority. So a plan that fills its nodes stays
// feasible.
//
// Begin with Decide. Its input is a Snapshot. Its output is the nominations to write, and the claims whose nodes need
// not exclude pods any longer because all of their pods are nominated. It guarantees the following.
//
//   - It keeps no state. Snapshot.Promises has the node of each planned pod. After a restart, the node is known from
//     the nominations.
//   - A nomination is a hint. kube-scheduler clears it after a failed attempt, and Decide then returns it again. Nominations
//     by other writers are never changed.
//   - Outcomes has state of its own: whether schedulers bind pods to their nominated nodes. Provisioning reads it, Decide does
//     not.
//   - No node waits longer than maxWaitForNominations for the nominations of other nodes. Package lifecycle bounds how long a
//     node waits for its own.
package nominate
