// Package consolidate replaces nodes whose pods cost less elsewhere by fewer or cheaper nodes, or by none.
//
// Begin with Run. Its input is a State, the candidates that may be in commands, and a Cursor. Its output is the State with
// further commands, and the next Cursor. Run does nothing while other nodes will become consolidatable soon (wait.go).
// Otherwise it searches for sets of candidates to remove together (sets.go). Finally it evaluates each candidate alone
// (single.go), so that each has a verdict. While the cluster does not change, these verdicts count for 15 minutes
// (Results).
//
// Each set becomes a proposal: the plan for its pods without its nodes. A proposal goes through four steps.
//
//  1. Made (proposal.go): nodes that the plan would launch again with the same type are kept.
//  2. Priced (narrow.go): replacements are narrowed to offerings that cost less than the set. The saving must pay for the
//     evictions, and the move must not undo a recent one.
//  3. Improved: nodes that do not pay for their own move are dropped (dropFreeRiders), and others are added (extend).
//  4. Accepted (accept.go), if the budgets and the policy Balanced of NodePools allow it.
package consolidate
