// Package dashboard serves the dashboard: its JSON, its stream of changes, and its page.
//
// It only reads. Every view is made of a Snapshot of the observed cluster, of what the controllers decided last, of the
// decision log and of the ledger of costs, so it shows what was decided and decides nothing. What-if uses the solver of the
// controllers on a copy.
//
// The fleet is computed again when something has changed, at most every tick, and not at all if no page is open, except
// for the history and the trends. Nodes that have not changed are not computed again, and a message is encoded once for
// all pages. All state is in memory and may be lost.
package dashboard
