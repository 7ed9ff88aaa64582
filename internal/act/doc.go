// Package act carries decisions out. It is the only package that writes NodeClaims and Nodes, whether for a Plan, a Command, an
// Action or a provider. internal/archtest finds writes elsewhere.
//
// Every write is idempotent, so a caller that was interrupted simply repeats it. Functions return the objects that they wrote.
// The caller passes these to observe.Assume, so that no decision is repeated on a stale view. A dry run does all but the
// writing.
package act
