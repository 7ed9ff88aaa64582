// Package problem compiles a Snapshot for disruption and holds the state of a decision. Begin with Compile.
//
// A Problem is immutable. It holds a Candidate for each node that Karpenter may disrupt, with its price, its pods, and
// their eviction cost and worth. A State is the cluster after the commands so far, with the remaining budgets and a
// verdict for each candidate. Each method takes a State and returns a changed clone.
//
// A Proposal is a set of candidates with a what-if: the plan for their pods without their nodes. State.WhatIf creates
// it, a method prices and checks it, and State.Accept adds it as a command.
package problem
