// Package pack measures engine/pack: time, memory and price above the floor, by profile and number of pods, and checks
// the invariants of every benchmark's plan.
package pack
