// Package dashboard serves the dashboard: its JSON, its stream of changes, and its page.
//
// It makes no decisions and changes nothing. Every view is computed from a Snapshot of the observed cluster, the last
// decisions of the controllers, the decision log and the ledger of costs. A what-if uses the solver of the controllers on a
// copy of the snapshot.
//
// The fleet is computed again when something has changed: at each tick, when a page opens the stream, and for a request if
// the last computation is older than a tick. While no stream is open, the tick is longer, for the history and the trends.
// Nodes that have not changed are not computed again, and a message is encoded once for all pages. All state is in memory
// and may be lost.
package dashboard
