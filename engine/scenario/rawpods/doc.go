// Package rawpods makes pods of arbitrary bytes, for fuzz tests.
//
// A pod is any that the API server accepts: quantities of any size, init containers, overhead, selectors, affinity, spread,
// ports, volumes and tolerations, with few distinct values, so that they often meet. The same bytes make the same pods. Bytes
// that are missing count as zero, and zeros make plain pods, so that a fuzz engine can make an input smaller.
//
// Pods of tenants are in the namespaces of Tenants. Their required rules about other pods never select pods of the namespace
// Ordinary: whatever tenants make, pods there can be placed.
package rawpods
