// Package act carries decisions out: it is the one place that writes NodeClaims and Nodes, whether for a Plan, a Command, an
// Action or a provider, and the one place that knows how to write. internal/archtest finds writes elsewhere.
//
// Every write is idempotent: doing it twice does no harm, so a caller that was interrupted simply does it again. What was
// written is returned, so that the caller can hand it to observe.Assume and never decides twice on a stale view. A dry run
// does all but the writing.
package act
