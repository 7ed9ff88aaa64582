// Package topology reads what pods ask of each other: topology spread, affinity and anti-affinity.
//
// A Term says which pods are looked at and by which label nodes are told apart; nodes with one value of that label are a
// domain. A Rule is what one pod asks of a Term: to be spread over its domains, to be near its pods or to be apart from
// them. The package reads rules and finds the terms that select a pod; counting and placing are the solver's.
package topology
