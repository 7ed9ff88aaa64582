// Package consolidate removes nodes whose pods cost less elsewhere: N nodes become M, none included.
//
// It first waits until the cluster has settled (settle.go). Then it looks for sets of candidates to remove together
// (sets.go), and in the end looks at each candidate by itself (single.go), so that each has a verdict of its own. A small
// number of candidates is looked at more closely (few.go).
//
// Each set becomes a proposal: the plan for its pods without its nodes. A proposal goes through four steps.
//
//  1. Made (proposal.go): nodes that the plan would launch again as they were are kept.
//  2. Priced (narrow.go): replacements are narrowed to offerings that cost less than the set. What that saves has to pay for
//     the evictions, and must not undo a recent move.
//  3. Improved: nodes that do not pay for their own move are dropped (freeriders.go), nodes that would be left underfilled
//     are added (extend.go).
//  4. Accepted (accept.go), if the budgets allow it, and the policy Balanced where a NodePool has it.
package consolidate
