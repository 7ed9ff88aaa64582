// Package ours runs our engine on the benchmarks' input and measures it.
package ours
