// Package catalog decides what each EC2 instance type would be as a node of a given node class: its labels, what pods may
// use of it, and in which zones, under which capacity types and at what price it can be had.
//
// The formulas are pure (Build): a Machine, which is what EC2 publishes, and a Shape, which is what the node class
// changes, make a type. A Catalog keeps them up to date: it refreshes machines and their zones from EC2, and follows
// prices and shortages by their revision numbers, so that an unchanged world gives the very same slice again.
//
// Everything here is a cache of EC2 and may be lost. Shortages too: the price is one launch that is refused again.
package catalog
