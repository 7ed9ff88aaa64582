// Package catalog computes the model.InstanceTypes of a node class from the EC2 instance types: labels, capacity,
// allocatable resources, and offerings with prices.
//
// Build is pure. It combines a Machine, the facts that EC2 publishes about an instance type, with a Shape, the settings
// of the node class. A Catalog calls Build and caches the result. It refreshes machines and their zones from EC2, and
// detects changes of prices and shortages by revision numbers. If nothing has changed, it returns the same slice.
//
// All state is a cache of EC2 and may be lost. If the record of a shortage is lost, EC2 refuses one more launch.
package catalog
