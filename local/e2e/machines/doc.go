// Package machines has the scenes of the end-to-end tests of Cluster API: templates, a node class, a NodePool and pods, and waits
// for the state of their NodeClaims, Machines and nodes. The management cluster and the cluster of the nodes may be the same.
package machines
