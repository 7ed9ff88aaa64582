// Package rawpods derives pods from arbitrary bytes, for fuzz tests.
//
// The API server accepts each of the pods. They have quantities of any size, init containers, overhead, selectors,
// affinity, spread constraints, ports, volumes and tolerations. There are few distinct values, so that selectors often
// match.
//
// The same bytes give the same pods. Missing bytes count as zero, and zeros give pods without constraints, so that the
// fuzzing engine can minimize an input.
//
// The pods are in the namespaces of Tenants. Their required affinity and anti-affinity never select pods of the
// namespace Ordinary. So pods of that namespace can always be placed.
package rawpods
