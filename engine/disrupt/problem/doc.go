// Package problem is a Snapshot compiled for disruption, and the state that decisions about it go through.
//
// A Problem never changes. It holds a Candidate for every node that Karpenter may disrupt, with its price, its pods, what
// evicting them costs and what they are worth. A State is the cluster as the commands so far will leave it, together with
// what is left of the budgets and a verdict for each candidate. A method takes a State and returns a new one. It may change
// the copy that State.Clone makes, and nothing else does.
//
// A Proposal is a hypothesis: a set of candidates, and the plan for their pods without them. State.WhatIf makes it. A method
// prices and checks it, and State.Accept makes a command of it.
package problem
