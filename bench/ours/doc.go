// Package ours runs this project's engine on the benchmarks' input and measures it.
package ours
