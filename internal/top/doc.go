// Package top is the live view of a cluster in a terminal. It shows nodes with their use, their price and why they are
// kept, pending pods, NodePools with their limits, and decisions.
//
// Begin with Of, which makes the Data of one moment from decisions of the engine. Model shows Data in a terminal, and draws
// only the rows that are visible. Text prints Data once. The texts of reasons are those of package explain, as in events.
package top
