// Package disruptionstatus maintains two conditions of claims on which disruption depends. Consolidatable: consolidateAfter
// has elapsed since the last pod event. Drifted: the claim no longer matches its pool or node class.
//
// engine/lifecycle and the provider decide both. Drift without an event is found within five minutes.
package disruptionstatus
