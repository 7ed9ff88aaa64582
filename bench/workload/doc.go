// Package workload makes the pods that benchmarks place: deterministic for a seed, in shapes that clusters really have.
package workload
