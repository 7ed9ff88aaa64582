// Package catalog computes the model.InstanceTypes of a node class from the EC2 instance types: labels, capacity,
// allocatable resources, and offerings with prices.
//
// Build is pure. It combines a Machine, the facts that EC2 publishes about an instance type, with a Shape, the settings
// of the node class. A Catalog calls it and caches the result. It refreshes machines and their zones from EC2, and
// notices changed prices and shortages by revision numbers. If nothing has changed, it returns the same slice.
//
// All state is a cache of EC2 and may be lost. If shortages are lost, one launch of each is refused again.
package catalog
