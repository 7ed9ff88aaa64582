// Package clusterapi implements cloud.Provider with Machines of Cluster API (docs/clusterapi.md, docs/adr/0020-cluster-api.md).
//
// There are two clusters, which may be the same. The workload cluster has the nodes, NodeClaims and node classes. The
// management cluster has the Cluster, the templates and the Machines, and their controllers.
//
//   - template.go reads the templates of a class; catalogue.go makes an instance type of each, with prices from prices.go.
//   - create.go launches: it chooses, records the choice on the claim, clones the templates, creates the Machine, and waits for its
//     provider ID. shortage.go records offerings without capacity.
//   - machine.go declares the fields of Cluster API's objects that are used.
//   - status.go and collect.go are controllers: the status of classes, and Machines without a claim. notices.go reports Machines
//     that others delete or that have failed.
//
// The state in memory is the shortages, and the Machine of each provider ID. After a restart, a launch may try an offering
// without capacity again, and Machines are found by a list of all.
package clusterapi
