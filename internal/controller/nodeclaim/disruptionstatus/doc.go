// Package disruptionstatus maintains two conditions of claims on which disruption depends. Consolidatable:
// consolidateAfter has elapsed since the last pod event. Drifted: the claim no longer matches its NodePool or node
// class.
//
// engine/lifecycle and the provider compute both. Drift without an event is detected within five minutes.
package disruptionstatus
